// Thorough: run by the merge check, or by name.
/** What a file system may hold, and what it has no room for. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { appendFile, mkdir, readFile, readdir, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { download, filesIn, machine, isRefusal, upload } from '#test/computers/files.ts'
import { needs } from '#test/needs.ts'

const bytes = (...parts: (string | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))

test('a name that isn’t UTF-8 is listed with a path that works for every operation', async () => {
  await using box = await machine()
  const folder = bytes(`${box.root}/caf`, 0xe9)
  await mkdir(folder)
  const inner = Buffer.concat([folder, bytes('/100%', 0xff, '?#')])
  await writeFile(inner, 'latin')
  const list = async (path: string) => (await box.open('fs.list', { path, cursor: null, limit: 10 }).output).entries
  const [shown] = await list(box.root)
  assert.deepEqual([shown!.name, shown!.path], ['caf\uFFFD', `file://${box.root}/caf%E9`])
  assert.deepEqual(Buffer.from(shown!.name_base64!, 'base64'), bytes('caf', 0xe9))
  const [within] = await list(shown!.path)
  assert.equal(within!.path, `file://${box.root}/caf%E9/100%25%FF%3F%23`)
  const { path } = within!
  assert.deepEqual(await box.open('fs.stat', { path }).output, within)
  assert.equal((await download(box.open, { path })).bytes.toString(), 'latin')
  // It is its bytes that count, not what they look like.
  await assert.rejects(box.open('fs.stat', { path: `${box.root}/caf\uFFFD` }).output, isRefusal('not_found'))
  const again = await upload(box.open, Buffer.from('new'), { path, overwrite: true, size: 3 })
  assert.deepEqual([again.entry!.path, await readFile(inner, 'utf8')], [path, 'new'])
  const created = await box.open('fs.mkdir', { path: `${shown!.path}/%C3(/deep`, parents: true }).output
  assert.equal(created.path, `${shown!.path}/%C3(/deep`)
  // Archives need text names, so each of the two gets a unique one.
  const { bytes: tar } = await download(box.open, { path: shown!.path, archive: 'tar' })
  const names = execFileSync('tar', ['-t'], { input: tar }).toString().split('\n').toSorted()
  assert.deepEqual(names.filter(Boolean), ['%C3(', '%C3(/deep', '100%25%FF%3F%23'])
  assert.deepEqual(await box.open('fs.remove', { path, recursive: false }).output, { removed: 1 })
  assert.deepEqual(await box.open('fs.remove', { path: shown!.path, recursive: true }).output, { removed: 3 })
  assert.deepEqual(await readdir(box.root), [])
})

test('a path as text and as URI is the same, and an invalid URI is rejected', async (t) => {
  await using box = await machine()
  const files = await filesIn(t, [box.root])
  await writeFile(join(box.root, 'naïve 1.txt'), 'x')
  const plain = await files['fs.stat']({ path: join(box.root, 'naïve 1.txt') })
  assert.deepEqual(await files['fs.stat']({ path: `file://${box.root}/na%c3%afve%201.txt` }), plain)
  assert.equal(plain.path, join(box.root, 'naïve 1.txt'))
  for (const path of [
    `file://${box.root}/%`,
    `file://${box.root}/%f`,
    `file://${box.root}/a%00b`,
    `file://${box.root}/a?b`,
    `file://${box.root}/a#b`,
    `file://elsewhere${box.root}`,
    'file:/etc',
  ])
    await assert.rejects(files['fs.stat']({ path }), isRefusal('invalid_parameter'), path)
  await assert.rejects(
    files['fs.stat']({ path: `file://${box.root}/%2e%2e/%2e%2e/etc/passwd` }),
    isRefusal('capability_denied'),
  )
})

test("the allowed folder itself can be read by its path and through a symlink, and its parent can't", async (t) => {
  await using box = await machine()
  const root = join(box.root, 'allowed')
  await mkdir(root)
  await symlink(root, join(box.root, 'way'))
  await symlink(root, join(root, 'self'))
  const files = await filesIn(t, [root])
  const row = await files['fs.stat']({ path: root })
  assert.deepEqual([row.type, row.name, row.path], ['folder', 'allowed', root])
  assert.deepEqual(await files['fs.stat']({ path: `${root}/` }), row)
  assert.equal((await files['fs.stat']({ path: join(box.root, 'way') })).path, root)
  assert.equal((await files['fs.stat']({ path: join(root, 'self') })).type, 'symlink')
  assert.deepEqual(await files['fs.mkdir']({ path: root, parents: true }), row)
  // The response doesn't reveal what exists outside.
  for (const path of [box.root, '/', join(box.root, 'other'), '/etc/passwd', '/etc/nothing/there']) {
    await assert.rejects(files['fs.stat']({ path }), isRefusal('capability_denied'), path)
    await assert.rejects(files['fs.list']({ path, cursor: null, limit: 1 }), isRefusal('capability_denied'), path)
    await assert.rejects(
      files['fs.mkdir']({ path: `${path}/new`, parents: true }),
      isRefusal('capability_denied'),
      path,
    )
  }
  await mkdir(join(root, 'sub'))
  await symlink(join(root, 'sub'), join(box.root, 'past'))
  await assert.rejects(files['fs.stat']({ path: join(box.root, 'past') }), isRefusal('capability_denied'))
})

test('pipes, sockets and devices are rejected immediately without unblocking their writers', async (t) => {
  await using box = await machine()
  const pipe = join(box.root, 'pipe')
  execFileSync('mkfifo', [pipe])
  const server = createServer().listen(join(box.root, 'socket'))
  t.after(() => void server.close())
  await once(server, 'listening')
  const writer = spawn('sh', ['-c', `echo waiting; echo through > ${pipe}; echo on`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => void writer.kill('SIGKILL'))
  let output = ''
  writer.stdout.on('data', (part: Buffer) => (output += String(part)))
  await once(writer.stdout, 'data')
  for (const name of ['pipe', 'socket'])
    await assert.rejects(download(box.open, { path: join(box.root, name) }), isRefusal('invalid_parameter'), name)
  const whole = await machine({ root: '/' })
  await using _whole = whole
  for (const path of ['/dev/zero', '/dev/tty', '/dev/null'])
    await assert.rejects(download(whole.open, { path }), isRefusal('invalid_parameter'), path)
  assert.equal((await box.open('fs.stat', { path: pipe }).output).type, 'other')
  // Only a reader lets it on.
  assert.equal(output, 'waiting\n')
  const { bytes: tar } = await download(box.open, { path: box.root, archive: 'tar' })
  assert.equal(execFileSync('tar', ['-t'], { input: tar }).toString(), '')
  assert.equal(output, 'waiting\n')
  assert.equal(await readFile(pipe, 'utf8'), 'through\n')
})

test('a file that grows while being read is sent at its original length, and a sparse file with its zeros', async () => {
  await using box = await machine()
  const log = join(box.root, 'log')
  await writeFile(log, Buffer.alloc(2_000_000, 'a'))
  const stream = box.open('fs.read', { path: log, offset: 0, length: null, archive: null })
  let size = 0
  for await (const each of stream) {
    if (each.type !== 'bytes') continue
    size += each.bytes.length
    await appendFile(log, 'more')
  }
  assert.deepEqual([(await stream.output).bytes, size], [2_000_000, 2_000_000])
  const archive = await download(box.open, { path: box.root, archive: 'tar' })
  assert.equal(
    execFileSync('tar', ['-xO'], { input: archive.bytes, maxBuffer: 1 << 24 }).length,
    (await stat(log)).size,
  )
  const sparse = join(box.root, 'sparse')
  await writeFile(sparse, 'begin')
  await truncate(sparse, 2 ** 40)
  await appendFile(sparse, 'end')
  const row = await box.open('fs.stat', { path: sparse }).output
  assert.equal(row.size_bytes, 2 ** 40 + 3)
  const end = await download(box.open, { path: sparse, offset: 2 ** 40 - 5, length: 100 })
  assert.equal(end.bytes.toString(), '\0\0\0\0\0end')
})

const TWENTY_THOUSAND = 20_000

test('a folder of 20,000 entries is paged in order without repeats', async (t) => {
  await using box = await machine()
  const folder = join(box.root, 'many')
  mkdirSync(folder)
  for (let n = 0; n < TWENTY_THOUSAND; n++) writeFileSync(join(folder, `entry-${n}`), '')
  const files = await filesIn(t, [folder])
  let count = 0
  let last = ''
  // An old mtime, as for a folder that isn't changing. A changing one is read again for each page.
  utimesSync(folder, 1_700_000_000, 1_700_000_000)
  for (let cursor: string | null = null; ;) {
    const page = await files['fs.list']({ path: folder, cursor, limit: 1_000 })
    assert.ok(JSON.stringify(page).length < 65_000)
    for (const { name } of page.entries) {
      assert.ok(name > last, `${name} behind ${last}`)
      last = name
    }
    count += page.entries.length
    cursor = page.next_cursor
    if (cursor === null) break
  }
  assert.equal(count, TWENTY_THOUSAND)
  // An entry added between two pages appears in its place, and a removed one on none.
  const cursor = Buffer.from('entry-9998').toString('base64url')
  writeFileSync(join(folder, `${last}-new`), '')
  rmSync(join(folder, last))
  const end = await files['fs.list']({ path: folder, cursor, limit: 1_000 })
  assert.deepEqual(
    end.entries.map(({ name }) => name),
    [`${last}-new`],
  )
  const { output } = box.open('fs.remove', { path: folder, recursive: true })
  assert.deepEqual(await output, { removed: TWENTY_THOUSAND + 1 })
})

/** A disk of one megabyte and twenty files. */
function smallDisk(): (Disposable & { path: string }) | null {
  const path = mkdtempSync(join(tmpdir(), 'uk-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,nr_inodes=20', 'none', path], { stdio: 'ignore' })
  } catch {
    rmSync(path, { recursive: true })
    return null
  }
  return {
    path,
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', path])
      rmSync(path, { recursive: true })
    },
  }
}

const canMount = ((): boolean => {
  using disk = smallDisk()
  return disk !== null
})()

test(
  'a full disk reports its free space and the space needed, before the first byte or during the upload',
  needs(canMount, 'the right to mount'),
  async () => {
    using disk = smallDisk()!
    await using box = await machine({ root: disk.path })
    const path = join(disk.path, 'big')
    const numbers = (needed: number | null) => (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error))
      assert.equal(error.code, 'storage_full')
      const { free_bytes: free, needed_bytes } = error.details as Record<string, number>
      assert.equal(needed_bytes, needed)
      assert.ok(free! >= 0 && free! <= 1 << 20, String(free))
      assert.match(error.message, new RegExp(`has ${free} free bytes`))
      return true
    }
    const two = Buffer.alloc(2 << 20, 'x')
    await assert.rejects(upload(box.open, two, { path, size: two.length }), numbers(two.length))
    // The length is unknown.
    await assert.rejects(upload(box.open, two, { path, key: 'unknown' }), numbers(null))
    assert.deepEqual(readdirSync(disk.path), [])
    // Another program takes the space that was free at first.
    const half = Buffer.alloc(600_000, 'x')
    const stream = box.open('fs.write', {
      path,
      key: 'raced',
      overwrite: false,
      offset: 0,
      size: half.length,
      complete: true,
    })
    stream.output.catch(() => {})
    for await (const each of stream) if (each.type === 'event') break
    writeFileSync(join(disk.path, 'other'), Buffer.alloc(700_000))
    await stream.write(half).catch(() => {})
    stream.finish()
    await assert.rejects(
      stream.output,
      (error: Refusal) => error.code === 'storage_full' && Number(error.details!.needed_bytes) > 0,
    )
    rmSync(join(disk.path, 'other'))
    // The refused upload left nothing. With room again, it is sent again.
    assert.deepEqual(readdirSync(disk.path), [])
    await upload(box.open, half, { path, key: 'raced', size: half.length })
    assert.ok((await readFile(path)).equals(half))
    // The disk has bytes left but no inodes.
    for (let n = 0; n < 20; n++) {
      try {
        writeFileSync(join(disk.path, `file-${n}`), '')
      } catch {
        break
      }
    }
    await assert.rejects(
      box.open('fs.mkdir', { path: join(disk.path, 'folder'), parents: false }).output,
      numbers(null),
    )
    await assert.rejects(upload(box.open, Buffer.from('x'), { path: join(disk.path, 'small'), size: 1 }), numbers(null))
  },
)
