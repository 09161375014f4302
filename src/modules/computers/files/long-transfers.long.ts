import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { execFile } from 'node:child_process'
import { closeSync, createReadStream, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type Proxy, proxyTo } from '#test/link/proxy.ts'
import { daemonHome } from '#test/link/run-daemon.ts'
import { type StartedDaemon, startDaemon } from '#test/link/start-daemon.ts'
import { peopleAround } from '#test/computers/world.ts'
import { teamOf } from '#test/makers.ts'
import { temporaryDir } from '#test/program.ts'
import type { Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { PATIENCE_MS } from '#test/until.ts'

const { server, twin, alice } = await twoServers()
const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())

const { carol } = await peopleAround(server, alice)
let id: string

let root: string
let proxy: Proxy
let daemon: StartedDaemon

before(async () => {
  const home = stack.use(daemonHome())
  root = stack.use(temporaryDir()).path
  proxy = stack.use(await proxyTo(server.origin))
  daemon = stack.use(await startDaemon(home, proxy.origin, alice, ['--root', root]))
  id = daemon.id
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
})

const at = (name: string): string => join(root, name)
const places = (path: string, more = '') => `?path=${encodeURIComponent(path)}${more}`
const downloadPath = (path: string, more = '') => `/computers/${id}/fs/download${places(path, more)}`
const uploadPath = (path: string, more = '') => `/computers/${id}/fs/upload${places(path, more)}`
const upload = (
  who: Caller,
  path: string,
  bytes: Uint8Array | string,
  headers: Record<string, string> = {},
  more = '',
) => who.request('POST', uploadPath(path, more), bytes, { 'content-type': 'application/octet-stream', ...headers })

const get = (who: Caller, path: string, headers: Record<string, string> = {}, more = '', method = 'GET') =>
  fetch(`${who.origin}/v1${downloadPath(path, more)}`, { method, headers: { ...who.headers, ...headers } })

const sha = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

function send(who: Caller, path: string, body: AsyncIterable<Uint8Array>, headers: Record<string, string> = {}) {
  return fetch(`${who.origin}/v1${uploadPath(path)}`, {
    method: 'POST',
    headers: { ...who.headers, 'content-type': 'application/octet-stream', ...headers },
    body: ReadableStream.from(body),
    duplex: 'half',
  })
}

test('uploads and downloads survive network cuts without lost or repeated bytes', async () => {
  const bytes = randomBytes(8 << 20)
  let passed = 0
  const cutAfter = (size: number): void => {
    if (Math.floor((passed + size) / 3_000_000) > Math.floor(passed / 3_000_000)) proxy.cut()
    passed += size
  }
  async function* counted() {
    for (let at = 0; at < bytes.length; at += 65_536) {
      yield bytes.subarray(at, at + 65_536)
      cutAfter(65_536)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  {
    const response = await send(alice, at('cut.bin'), counted())
    assert.equal(response.status, 201, await response.text())
    assert.equal(sha(readFileSync(at('cut.bin'))), sha(bytes))
    const beyond = { ...alice, origin: twin.origin }
    let reading = await get(beyond, at('cut.bin'))
    // Calls made while it is offline are refused.
    for (; reading.status === 409 || reading.status === 503; reading = await get(beyond, at('cut.bin'))) {
      await reading.text()
      await server.app.engine.links.online(id, PATIENCE_MS)
    }
    assert.equal(reading.status, 200)
    const parts: Uint8Array[] = []
    for await (const part of reading.body!) {
      parts.push(part)
      cutAfter(part.length)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    assert.equal(sha(Buffer.concat(parts)), sha(bytes))
  }
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
})

test('an interrupted upload resumes through another server process', async () => {
  const bytes = randomBytes(3 << 20)
  const third = await server.twin()
  const { port } = new URL(third.origin)
  await new Promise<void>((resolve) => {
    const sending = httpRequest({
      port,
      method: 'POST',
      path: `/v1${uploadPath(at('rest.bin'))}`,
      headers: { ...alice.headers, 'content-length': bytes.length },
    })
    sending.on('error', () => resolve()).on('response', () => resolve())
    sending.write(bytes.subarray(0, 2 << 20))
    setTimeout(() => void third[Symbol.asyncDispose](), 300)
  })
  let offset = 0
  for (let tries = 0; tries < 50 && offset === 0; tries++) {
    offset = Number((await alice.request('HEAD', uploadPath(at('rest.bin')))).headers.get('upload-offset'))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok(offset > 0 && offset <= 2 << 20, String(offset))
  const rest = await upload(alice, at('rest.bin'), bytes.subarray(offset), {
    'content-range': `bytes ${offset}-${bytes.length - 1}/${bytes.length}`,
  })
  assert.equal(rest.status, 201, rest.text)
  assert.equal(sha(readFileSync(at('rest.bin'))), sha(bytes))
})

test('transferring 150 MB doesn’t increase memory on the computer or the server', async () => {
  const SIZE = 150 << 20
  const block = randomBytes(1 << 20)
  const original = at('original.bin')
  const file = openSync(original, 'w')
  for (let n = 0; n < SIZE >> 20; n++) {
    block.writeUInt32BE(n)
    writeSync(file, block)
  }
  closeSync(file)
  /** A separate process, so that only the servers' memory is measured. */
  const curl = async (words: string[]): Promise<string> => {
    const cookie = alice.headers.cookie!
    const { stdout } = await promisify(execFile)('curl', ['-sS', '-f', '-b', cookie, '-H', 'x-uk-csrf: 1', ...words])
    return stdout
  }
  const rss = () => process.memoryUsage().rss
  const before = [rss(), await memoryOf(daemon.pid!)]
  let maxBytes = before[0]!
  const sampling = setInterval(() => (maxBytes = Math.max(maxBytes, rss())), 20)
  const began = performance.now()
  await curl(['-X', 'POST', '-T', original, `${server.origin}/v1${uploadPath(at('large.bin'))}`])
  const up = performance.now()
  await curl(['-o', at('back.bin'), `${server.origin}/v1${downloadPath(at('large.bin'))}`])
  const down = performance.now()
  clearInterval(sampling)
  const after = await memoryOf(daemon.pid!)
  const hashes = await Promise.all(
    ['original.bin', 'large.bin', 'back.bin'].map(async (name) => {
      const hash = createHash('sha256')
      for await (const part of createReadStream(at(name))) hash.update(part)
      return hash.digest('hex')
    }),
  )
  assert.equal(new Set(hashes).size, 1)
  const grown = [(maxBytes - before[0]!) >> 20, (after - before[1]!) >> 20]
  console.log(
    `150 MB up ${Math.round(up - began)} ms, down ${Math.round(down - up)} ms, memory +${grown[0]} MB server, +${grown[1]} MB daemon`,
  )
  assert.ok(
    grown.every((mb) => mb < 100),
    `memory grew by ${grown.join(' and ')} MB`,
  )
})

/** Peak resident memory. */
const memoryOf = async (pid: number): Promise<number> =>
  Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) << 10

test('losing permission during a download ends it', async () => {
  const some = await teamOf(alice, [[carol, 'member']])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: some, capabilities: ['fs_read'] })
  writeFileSync(at('long.bin'), Buffer.alloc(40 << 20))
  const reading = await get(carol, at('long.bin'))
  const parts = reading.body!.getReader()
  await parts.read()
  await alice.delete(`/computers/${id}/exposures/${some}`)
  const began = performance.now()
  await assert.rejects(async () => {
    for (;;) {
      if ((await parts.read()).done) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  assert.ok(performance.now() - began < 5_000)
})
