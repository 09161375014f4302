import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { type Machine, download, machine, isRefusal, upload } from '#test/computers/files.ts'
import { socketLink } from '#test/link/sockets.ts'

test('a file is uploaded and downloaded unchanged, whole, from an offset and in part', async () => {
  await using box = await machine()
  const bytes = randomBytes(3_000_001)
  const path = join(box.root, 'a.bin')
  const { entry, offset } = await upload(box.open, bytes, { path, size: bytes.length })
  assert.deepEqual([entry!.size_bytes, offset, entry!.name], [bytes.length, bytes.length, 'a.bin'])
  assert.deepEqual(await readdir(box.root), ['a.bin'])
  const whole = await download(box.open, { path })
  assert.ok(whole.bytes.equals(bytes))
  assert.equal(whole.head.length, bytes.length)
  const part = await download(box.open, { path, offset: 1_000_000, length: 70_000 })
  assert.ok(part.bytes.equals(bytes.subarray(1_000_000, 1_070_000)))
  assert.equal(part.head.etag, whole.head.etag)
  await assert.rejects(download(box.open, { path, offset: bytes.length + 1 }), isRefusal('range_not_satisfiable'))
  assert.equal((await download(box.open, { path, offset: bytes.length })).bytes.length, 0)
})

test('an interrupted upload resumes, and a wrong offset is answered with the right one', async () => {
  await using box = await machine()
  const bytes = randomBytes(2_000_000)
  const path = join(box.root, 'cut.bin')
  const stream = box.open('fs.write', {
    path,
    key: 'one',
    overwrite: false,
    offset: 0,
    size: bytes.length,
    complete: true,
  })
  stream.output.catch(() => {})
  await stream.write(bytes.subarray(0, 500_000))
  box.cut()
  await using again = await socketLink(box.answer)
  const open: Machine['open'] = (op, input) => again.asks.open({ op, input })
  const at = async (): Promise<number> => (await open('fs.upload_offset', { path, key: 'one' }).output).offset
  let offset = await at()
  for (let before = -1; before !== offset; offset = await at()) before = offset
  assert.ok(offset <= 500_000)
  assert.deepEqual((await open('fs.upload_offset', { path, key: 'another' }).output).offset, 0)
  await assert.rejects(upload(open, bytes, { path, key: 'one', offset: offset + 1 }), (error: unknown) => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.details], ['stale_update', { offset }])
    return true
  })
  await upload(open, bytes.subarray(offset), { path, key: 'one', offset, size: bytes.length })
  assert.ok((await readFile(path)).equals(bytes))
  assert.deepEqual(await readdir(box.root), ['cut.bin'])
})

test('an upload whose response was lost with its daemon is recognized by the next daemon and not repeated', async () => {
  const root = await mkdtemp(join(tmpdir(), 'uk-files-'))
  const state = await mkdtemp(join(tmpdir(), 'uk-state-'))
  await using _folders = {
    [Symbol.asyncDispose]: async () => {
      for (const folder of [root, state]) await rm(folder, { recursive: true, force: true })
    },
  }
  const bytes = randomBytes(300_000)
  const path = join(root, 'once.bin')
  {
    await using box = await machine({ root, state })
    await upload(box.open, bytes, { path, key: 'one', size: bytes.length })
  }
  await using next = await machine({ root, state })
  const { offset } = await next.open('fs.upload_offset', { path, key: 'one' }).output
  assert.equal(offset, bytes.length)
  const { entry } = await upload(next.open, Buffer.alloc(0), { path, key: 'one', offset, size: bytes.length })
  assert.equal(entry!.size_bytes, bytes.length)
  // Changed since, it is not that file any more.
  await writeFile(path, 'other')
  assert.equal((await next.open('fs.upload_offset', { path, key: 'one' }).output).offset, 0)
})

test('a file is replaced only on request and keeps its mode, and of two racing uploads one wins whole', async () => {
  await using box = await machine()
  const path = join(box.root, 'run.sh')
  await writeFile(path, 'old')
  await chmod(path, 0o750)
  await assert.rejects(upload(box.open, Buffer.from('new'), { path }), isRefusal('already_exists'))
  assert.equal(await readFile(path, 'utf8'), 'old')
  await upload(box.open, Buffer.from('new'), { path, overwrite: true })
  assert.equal(await readFile(path, 'utf8'), 'new')
  assert.equal((await stat(path)).mode & 0o777, 0o750)
  const race = join(box.root, 'race')
  const ends = await Promise.allSettled(
    ['a', 'b'].map((key) => upload(box.open, Buffer.alloc(200_000, key), { path: race, key })),
  )
  assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal(new Set(await readFile(race)).size, 1)
  assert.deepEqual((await readdir(box.root)).toSorted(), ['race', 'run.sh'])
})

test('an upload with fewer or more bytes than announced changes nothing', async () => {
  await using box = await machine()
  const path = join(box.root, 'x')
  await assert.rejects(upload(box.open, Buffer.alloc(10), { path, size: 11 }), isRefusal('stale_update'))
  await assert.rejects(
    upload(box.open, Buffer.alloc(12), { path, key: 'k2', size: 11 }),
    isRefusal('invalid_parameter'),
  )
  await assert.rejects(upload(box.open, Buffer.alloc(1), { path, key: 'k3', size: 2 ** 50 }), isRefusal('storage_full'))
  await assert.rejects(stat(path))
})

test('a folder downloads as a zip or tar that common programs unpack, with symlinks as symlinks', async () => {
  await using box = await machine()
  const root = join(box.root, 'tree')
  await mkdir(join(root, 'sub'), { recursive: true })
  const content = randomBytes(300_000)
  await writeFile(join(root, 'sub/ümlaut.bin'), content)
  await writeFile(join(root, 'empty'), '')
  await writeFile(join(root, 'run'), '#!/bin/sh\n', { mode: 0o755 })
  await symlink('/etc/passwd', join(root, 'link'))
  execFileSync('mkfifo', [join(root, 'pipe')])
  await assert.rejects(download(box.open, { path: root }), isRefusal('invalid_parameter'))
  await assert.rejects(download(box.open, { path: join(root, 'run'), archive: 'zip' }), isRefusal('invalid_parameter'))
  await assert.rejects(download(box.open, { path: join(root, 'pipe') }), isRefusal('invalid_parameter'))
  for (const [archive, unpack] of [
    ['tar', ['tar', '-xf']],
    ['zip', ['python3', '-m', 'zipfile', '-e']],
  ] as const) {
    const { bytes } = await download(box.open, { path: root, archive })
    const out = join(box.root, `out-${archive}`)
    await mkdir(out)
    await writeFile(`${out}.${archive}`, bytes)
    const [program, ...args] = unpack
    execFileSync(program, archive === 'tar' ? [...args, `${out}.tar`, '-C', out] : [...args, `${out}.zip`, out])
    assert.deepEqual((await readdir(out, { recursive: true })).toSorted(), [
      'empty',
      'link',
      'run',
      'sub',
      'sub/ümlaut.bin',
    ])
    assert.ok((await readFile(join(out, 'sub/ümlaut.bin'))).equals(content))
    if (archive === 'tar') assert.equal((await stat(join(out, 'run'))).mode & 0o777, 0o755)
    else assert.ok(!bytes.includes('root:x:0:0'))
  }
})

test('a file that shrinks while being read ends with an error, not with fewer bytes', async () => {
  await using box = await machine()
  const path = join(box.root, 'log')
  await writeFile(path, Buffer.alloc(4_000_000))
  const stream = box.open('fs.read', { path, offset: 0, length: null, archive: null })
  stream.output.catch(() => {})
  let first = true
  await assert.rejects(async () => {
    for await (const each of stream) {
      if (each.type === 'bytes' && first) {
        first = false
        await truncate(path, 10)
      }
    }
    await stream.output
  }, isRefusal('stale_update'))
})

test('a listening port is listed with its program, and raw bytes flow both ways until both sides end', async () => {
  await using box = await machine()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const hash = createHash('sha256')
    socket.on('data', (bytes) => hash.update(bytes)).on('end', () => socket.end(hash.digest('hex')))
  }).listen(0, '127.0.0.1')
  try {
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const { ports } = await box.open('ports.list', {}).output
    const row = ports.find((each) => each.port === port)!
    assert.deepEqual([row.protocol, row.pid], ['tcp', process.pid])
    const bytes = randomBytes(1_000_000)
    const stream = box.open('ports.dial', { port })
    const sent = stream.write(bytes).then(() => stream.finish())
    let answer = ''
    for await (const each of stream) if (each.type === 'bytes') answer += Buffer.from(each.bytes).toString()
    await sent
    assert.equal(answer, createHash('sha256').update(bytes).digest('hex'))
    await stream.output
  } finally {
    server.close()
  }
  const dialed = box.open('ports.dial', { port: 1 })
  await assert.rejects(dialed.output, isRefusal('upstream_error'))
})
