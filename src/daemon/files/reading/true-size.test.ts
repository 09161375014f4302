/** Files without a true size: the system generates them on reading. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { download, machine, isRefusal } from '#test/computers/files.ts'
import { needs } from '#test/needs.ts'

/** Generated files that stay the same between two reads. */
const GENERATED = [
  '/proc/version',
  '/proc/cmdline',
  '/proc/filesystems',
  '/sys/class/net/lo/mtu',
  '/sys/class/net/lo/address',
].filter((path) => existsSync(path) && statSync(path).size !== readFileSync(path).length)
const linux = needs(process.platform === 'linux' && GENERATED.length > 0, 'files that Linux generates')

test('files of /proc and /sys are sent whole, without a size, and from an offset', linux, async () => {
  await using box = await machine({ root: '/' })
  for (const path of GENERATED) {
    const whole = readFileSync(path)
    const { bytes, head, output } = await download(box.open, { path })
    assert.deepEqual([bytes.toString(), output.bytes], [whole.toString(), whole.length], path)
    assert.deepEqual([head.length, head.etag], [null, null], path)
    const part = await download(box.open, { path, offset: 2, length: 3 })
    assert.equal(part.bytes.toString(), whole.subarray(2, 5).toString(), path)
    assert.equal((await download(box.open, { path, length: 0 })).bytes.length, 0, path)
  }
})

test('empty files and files of zeros keep their size', async () => {
  await using box = await machine()
  const files = { empty: Buffer.alloc(0), zeros: Buffer.alloc(100_000), one: Buffer.from('x') }
  for (const [name, bytes] of Object.entries(files)) {
    const path = join(box.root, name)
    writeFileSync(path, bytes)
    const { head, bytes: came } = await download(box.open, { path })
    assert.deepEqual([head.length, came.length, typeof head.etag], [bytes.length, bytes.length, 'string'], name)
  }
})

test('an unreadable file is rejected before its download starts', linux, async (t) => {
  const path = '/proc/self/mem'
  await using box = await machine({ root: '/' })
  // Nothing is mapped at its first byte.
  if (!existsSync(path)) return t.skip('there is no such file')
  await assert.rejects(download(box.open, { path }), isRefusal('invalid_state'))
})

test('archives of /sys have whole files, as tar and as zip', linux, async (t) => {
  const folder = '/sys/class/net/lo'
  if (!existsSync(`${folder}/mtu`)) return t.skip('there is no such folder')
  await using box = await machine({ root: '/' })
  const mtu = readFileSync(`${folder}/mtu`, 'utf8')
  const { bytes: tar } = await download(box.open, { path: folder, archive: 'tar' })
  assert.equal(execFileSync('tar', ['-xO', 'mtu'], { input: tar }).toString(), mtu)
  const { bytes: zip } = await download(box.open, { path: folder, archive: 'zip' })
  const place = mkdtempSync(join(tmpdir(), 'uk-zip-'))
  try {
    writeFileSync(join(place, 'lo.zip'), zip)
    const python = `import zipfile; print(zipfile.ZipFile('${place}/lo.zip').read('mtu').decode(), end='')`
    assert.equal(execFileSync('python3', ['-c', python]).toString(), mtu)
  } finally {
    rmSync(place, { recursive: true })
  }
})
