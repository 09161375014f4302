import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import { until } from '#test/until.ts'
import { DownloadCut, download } from './download.ts'

const file = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 31 + (i >> 8)) & 255))
const etag = `"${createHash('sha256').update(file).digest('hex').slice(0, 16)}"`
let folder: string
let server: Shelf
let count = 0

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uk-download-'))
  server = await shelf({ '/model': file })
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const fresh = (): string => join(folder, `${++count}.part`)
const fetchTo = (part: string, more: Partial<Parameters<typeof download>[0]> = {}): Promise<void> =>
  download({
    url: `${server.origin}/model`,
    part,
    local: [server.host],
    progress() {},
    signal: new AbortController().signal,
    ...more,
  })
const whole = (part: string): void => assert.ok(readFileSync(part).equals(file), 'byte for byte')
/** Sends `bytes` and breaks the connection once they are in `part`; the reader loses what it hadn't stored. */
const cutAfter = (part: string, bytes: number, tag: { etag?: string }) => (_: unknown, response: ServerResponse) => {
  response.writeHead(200, { ...tag, 'content-length': file.length }).write(file.subarray(0, bytes))
  void until(
    async () => statSync(part).size,
    (size) => size === bytes,
  ).finally(() => response.destroy())
}
/** A part of which so many bytes have come. */
async function startPart(bytes = 40_000): Promise<string> {
  const part = fresh()
  server.next.push(cutAfter(part, bytes, { etag }))
  await assert.rejects(fetchTo(part), (error: unknown) => error instanceof DownloadCut && error.bytes === bytes)
  assert.equal(statSync(part).size, bytes)
  server.ranges.length = 0
  return part
}

test('an interrupted download resumes after the received bytes', async () => {
  const part = await startPart()
  const progress: number[] = []
  await fetchTo(part, { progress: (completed) => progress.push(completed) })
  assert.deepEqual(server.ranges, ['bytes=40000-'])
  assert.ok(progress[0]! > 40_000)
  whole(part)
  // All of it is here: asked again, nothing comes.
  await fetchTo(part)
  whole(part)
})

test('bytes of different content are never combined', async () => {
  const other = Buffer.alloc(file.length, 1)
  const answers: Record<string, (response: ServerResponse) => void> = {
    'the whole instead of the rest': (response) => {
      response.writeHead(200, { etag: '"other"', 'content-length': file.length }).end(file)
    },
    'another tag': (response) => {
      response
        .writeHead(206, { etag: '"other"', 'content-range': `bytes 40000-99999/100000`, 'content-length': 60_000 })
        .end(other.subarray(40_000))
    },
    'from another place': (response) => {
      response
        .writeHead(206, { etag, 'content-range': `bytes 0-59999/100000`, 'content-length': 60_000 })
        .end(file.subarray(0, 60_000))
    },
    'from nowhere': (response) => {
      response.writeHead(206, { etag, 'content-length': 60_000 }).end(file.subarray(40_000))
    },
    'nothing to send': (response) => void response.writeHead(416, { 'content-range': 'bytes */30000' }).end(),
  }
  for (const [name, answer] of Object.entries(answers)) {
    const part = await startPart()
    server.next.push((_, response) => answer(response))
    await fetchTo(part)
    assert.ok(readFileSync(part).equals(file), name)
  }
})

test('a temporary server error loses no received bytes', async () => {
  const part = await startPart()
  server.next.push((_, response) => void response.writeHead(503).end())
  await assert.rejects(fetchTo(part), { code: 'upstream_error', message: /503/ })
  assert.equal(statSync(part).size, 40_000)
  await fetchTo(part)
  whole(part)
})

test('without a strong tag, the download restarts', async () => {
  for (const tag of [{ etag: 'W/"1"' }, {}]) {
    const part = fresh()
    server.next.push(cutAfter(part, 1_000, tag))
    await assert.rejects(fetchTo(part), DownloadCut)
    server.ranges.length = 0
    await fetchTo(part)
    assert.deepEqual(server.ranges, [null])
    whole(part)
  }
})

test('no redirect and no URL spelling reaches this computer, its network or cloud metadata', async () => {
  for (const location of [
    'http://127.0.0.1:1/x',
    'http://localhost:1/x',
    'http://[::1]:1/x',
    'http://2130706433:1/x',
    'http://[::ffff:127.0.0.1]:1/x',
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]/latest',
    'http://10.0.0.1/x',
    'http://0.0.0.0:1/x',
  ]) {
    server.next.push((_, response) => void response.writeHead(302, { location }).end())
    await assert.rejects(fetchTo(fresh()), { code: 'policy_denied' }, location)
    await assert.rejects(fetchTo(fresh(), { url: location }), { code: 'policy_denied' }, location)
  }
  await assert.rejects(fetchTo(fresh(), { local: [] }), { code: 'policy_denied' })
  server.next.push((_, response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end())
  await assert.rejects(fetchTo(fresh()), { code: 'invalid_parameter' })
  for (let n = 0; n < 7; n++)
    server.next.push((_, response) => void response.writeHead(302, { location: '/model' }).end())
  await assert.rejects(fetchTo(fresh()), { code: 'upstream_error', message: /redirects too many times/ })
  server.next.length = 0
})

test('a redirect to an allowed address is followed', async () => {
  const part = fresh()
  server.next.push((_, response) => void response.writeHead(307, { location: '/model' }).end())
  await fetchTo(part)
  whole(part)
})

test('an endless response is aborted immediately and its bytes are kept', async () => {
  const part = fresh()
  const leaving = new AbortController()
  server.next.push((_, response) => {
    response.writeHead(200, { etag })
    const timer = setInterval(() => response.write(file.subarray(0, 1_000)), 5)
    response.once('close', () => clearInterval(timer))
  })
  const disconnect = server.left
  const fetching = fetchTo(part, {
    signal: leaving.signal,
    progress: (bytes) => bytes > 5_000 && leaving.abort(new Error('left')),
  })
  await assert.rejects(fetching, /left/)
  while (server.left === disconnect) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.ok(statSync(part).size > 5_000)
})

test('a download that doesn’t fit on the disk is rejected with the numbers before its first byte', async () => {
  const part = fresh()
  server.next.push((_, response) => {
    response.writeHead(200, { etag, 'content-length': 2 ** 50 })
    response.flushHeaders()
  })
  await assert.rejects(fetchTo(part), (error: unknown) => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.status, error.details?.needed_bytes], ['storage_full', 507, 2 ** 50])
    assert.ok(Number(error.details?.free_bytes) > 0)
    return true
  })
  assert.equal(statSync(part).size, 0)
})

test('a disk that fills up during a download is reported, and a retry resumes', async (context) => {
  const small = join(folder, 'small')
  mkdirSync(small)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=192k', 'tmpfs', small], { stdio: 'ignore' })
  } catch {
    return context.skip('no small disk can be mounted here')
  }
  try {
    const part = join(small, 'x.part')
    const leaving = join(small, 'other')
    const fill = `head -c 200000 /dev/zero > ${leaving} || true`
    // It fits at first; then another program takes the space.
    server.next.push((_, response) => {
      response.writeHead(200, { etag, 'content-length': file.length })
      response.write(file.subarray(0, 10_000))
      const timer = setInterval(() => existsSync(leaving) && response.end(file.subarray(10_000)), 5)
      response.once('close', () => clearInterval(timer))
    })
    const filling = fetchTo(part, {
      progress: () => existsSync(leaving) || execFileSync('sh', ['-c', fill], { stdio: 'ignore' }),
    })
    await assert.rejects(filling, (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, typeof error.details?.free_bytes], ['storage_full', 'number'])
      return true
    })
    assert.ok(statSync(part).size >= 10_000)
    await rm(leaving)
    await fetchTo(part)
    whole(part)
    await writeFile(leaving, Buffer.alloc(80_000))
    await assert.rejects(fetchTo(join(small, 'y.part')), { code: 'storage_full' })
  } finally {
    execFileSync('umount', [small])
  }
})
