import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { test } from 'node:test'
import { extract } from 'tar-stream'
import { type Stream, StreamReset } from '#packages/mux/stream.ts'
import { read } from './read.ts'
import { createRoots } from '../within.ts'
import { unzipped } from '#test/drive/unzipped.ts'
import { brokenRule, foldings } from '#test/drive/windows-paths.ts'

/** The files this process has open below a folder. */
async function openBelow(root: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd')
  const paths = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return paths.filter((path) => path.startsWith(root))
}

for (const archive of ['zip', 'tar'] as const)
  test(
    `a ${archive} whose reader disconnects closes all its open files`,
    { skip: process.platform !== 'linux' },
    async () => {
      const root = await mkdtemp(join(tmpdir(), 'uk-archive-'))
      await using _root = { [Symbol.asyncDispose]: () => rm(root, { recursive: true }) }
      await mkdir(join(root, 'a/b/c'), { recursive: true })
      for (const name of ['one', 'two', 'three'])
        await writeFile(join(root, 'a/b/c', name), Buffer.alloc(8 << 20, name))
      let written = 0
      const leaves: Partial<Stream> = {
        event: () => {},
        write: () => (++written > 3 ? Promise.reject(new StreamReset('left')) : Promise.resolve()),
      }
      const input = { path: root, offset: 0, length: null, archive }
      const reading = read(createRoots([root]), input, leaves as Stream, new AbortController().signal)
      await assert.rejects(reading, StreamReset)
      assert.deepEqual(await openBelow(root), [])
    },
  )

/** The archive of a folder. */
async function archived(root: string, archive: 'zip' | 'tar'): Promise<Buffer> {
  const pieces: Buffer[] = []
  const stream: Partial<Stream> = { event: () => {}, write: async (piece) => void pieces.push(Buffer.from(piece)) }
  const input = { path: root, offset: 0, length: null, archive }
  await read(createRoots([root]), input, stream as Stream, new AbortController().signal)
  return Buffer.concat(pieces)
}

const NAMES = [
  'Budget.txt',
  'budget.txt',
  'BUDGET.TXT',
  '9:30 call.txt',
  'why?.txt',
  'con',
  'Aux.log',
  'a.',
  'a ',
  'a_',
  'x|y*z',
  'é',
  'e\u0301',
  'a\\b',
  'l'.repeat(250),
]

test(
  'a zip of a folder unpacks on every system, and a tar keeps the names',
  { skip: process.platform !== 'linux' },
  async () => {
    const root = await mkdtemp(join(tmpdir(), 'uk-archive-'))
    await using _root = { [Symbol.asyncDispose]: () => rm(root, { recursive: true }) }
    const folders = ['', 'Con', 'con', 'deep', `deep/${'d'.repeat(160)}`]
    for (const folder of folders) {
      await mkdir(join(root, folder), { recursive: true })
      for (const name of NAMES.filter((one) => folder !== '' || one !== 'con'))
        await writeFile(join(root, folder, name), name)
    }
    await symlink('budget.txt', join(root, 'link: new'))
    // One name less at the top, and the link.
    const files = folders.length * NAMES.length
    const zipped = Object.entries(await unzipped(await archived(root, 'zip')))
    const paths = zipped.map(([path]) => path.replace(/\/$/, ''))
    for (const path of paths) assert.equal(brokenRule(path), null, path)
    for (const key of foldings) assert.equal(new Set(paths.map(key)).size, paths.length)
    assert.equal(zipped.filter(([path]) => !path.endsWith('/')).length, files)
    for (const name of NAMES) assert.ok(zipped.filter(([, content]) => content === name).length >= 4, name)

    const names: string[] = []
    const reading = extract()
    Readable.from([await archived(root, 'tar')]).pipe(reading as unknown as Writable)
    for await (const entry of reading) {
      names.push(entry.header.name)
      entry.resume()
    }
    for (const name of NAMES) assert.ok(names.includes(`deep/${name}`), name)
    assert.ok(names.includes('link: new'))
  },
)
