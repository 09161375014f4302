import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { Output } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { filesIn, isRefusal } from '#test/computers/files.ts'

const aside = <I>(input: I) =>
  // These operations have no bytes beside their answer.
  [input, undefined as unknown as Stream, { signal: new AbortController().signal }] as const
const room = async (t: { after(fn: () => Promise<void>): void }): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'uk-files-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

test('a folder is paged in name order, including names that aren’t UTF-8, and new entries shift nothing', async (t) => {
  const root = await room(t)
  for (const name of ['b', 'a', 'd', 'ü']) await writeFile(join(root, name), name)
  await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x41])]), '')
  await symlink('/etc/passwd', join(root, 'c'))
  const files = await filesIn(t, [root])
  const first = await files['fs.list']({ path: root, cursor: null, limit: 3 })
  assert.deepEqual(
    first.entries.map(({ name, type, target }) => [name, type, target]),
    [
      ['a', 'file', null],
      ['b', 'file', null],
      ['c', 'symlink', '/etc/passwd'],
    ],
  )
  await writeFile(join(root, 'aa'), '')
  const second = await files['fs.list']({ path: root, cursor: first.next_cursor, limit: 10 })
  assert.deepEqual(
    second.entries.map(({ name }) => name),
    ['d', 'ü', '\uFFFDA'],
  )
  assert.equal(second.entries[2]!.name_base64, Buffer.from([0xff, 0x41]).toString('base64'))
  assert.equal(second.next_cursor, null)
})

test('a folder of 4,000 names is paged without repeats or gaps', async (t) => {
  const root = await room(t)
  for (let n = 0; n < 4_000; n += 500)
    await Promise.all(Array.from({ length: 500 }, (_, i) => writeFile(join(root, `n${n + i}`), '')))
  const files = await filesIn(t, ['/'])
  const names: string[] = []
  for (let cursor: string | null = null; ;) {
    const page = await files['fs.list']({ path: root, cursor, limit: 300 })
    names.push(...page.entries.map(({ name }) => name))
    cursor = page.next_cursor
    if (cursor === null) break
  }
  assert.equal(new Set(names).size, 4_000)
  assert.equal(names.length, 4_000)
})

test('a page ends early if its rows exceed one message, and the next page continues there', async (t) => {
  const root = await room(t)
  const names = Array.from({ length: 300 }, (_, i) => `${String(i).padStart(3, '0')}-${'x'.repeat(200)}`)
  for (const name of names) await writeFile(join(root, name), '')
  const handlers = await filesIn(t, [root])
  const listedNames: string[] = []
  for (let cursor: string | null = null; ;) {
    const page: Output<'fs.list'> = await handlers['fs.list']({ path: root, cursor, limit: 1_000 })
    assert.ok(JSON.stringify(page).length < 65_000)
    listedNames.push(...page.entries.map(({ name }) => name))
    cursor = page.next_cursor
    if (cursor === null) break
  }
  assert.deepEqual(listedNames, names)
})

test('folders are created with their parents and removed with their contents, but never through a symlink', async (t) => {
  const root = await room(t)
  const outside = await room(t)
  await writeFile(join(outside, 'keep'), 'kept')
  const files = await filesIn(t, [root])
  await assert.rejects(files['fs.mkdir']({ path: join(root, 'a/b'), parents: false }), isRefusal('not_found'))
  const folder = await files['fs.mkdir']({ path: join(root, 'a/b/c'), parents: true })
  assert.deepEqual([folder.path, folder.type], [join(root, 'a/b/c'), 'folder'])
  await files['fs.mkdir']({ path: join(root, 'a/b/c'), parents: true })
  await assert.rejects(files['fs.mkdir']({ path: join(root, 'a/b'), parents: false }), isRefusal('already_exists'))
  await symlink(outside, join(root, 'a/b/out'))
  await assert.rejects(
    files['fs.remove'](...aside({ path: join(root, 'a'), recursive: false })),
    isRefusal('invalid_state'),
  )
  assert.deepEqual(await files['fs.remove'](...aside({ path: join(root, 'a'), recursive: true })), { removed: 4 })
  assert.equal(await readFile(join(outside, 'keep'), 'utf8'), 'kept')
})

test('nothing outside the allowed folders is shown, created or removed through any path', async (t) => {
  const root = await room(t)
  const outside = await room(t)
  await writeFile(join(outside, 'secret'), '')
  await symlink(outside, join(root, 'door'))
  const files = await filesIn(t, [root])
  for (const path of [outside, join(root, 'door'), `${root}/../${outside.split('/').at(-1)!}`, '/', '/proc/self/cwd'])
    await assert.rejects(files['fs.list']({ path, cursor: null, limit: 10 }), isRefusal('capability_denied'), path)
  await assert.rejects(files['fs.stat']({ path: join(root, 'door/secret') }), isRefusal('capability_denied'))
  await assert.rejects(
    files['fs.mkdir']({ path: join(root, 'door/new'), parents: true }),
    isRefusal('capability_denied'),
  )
  await assert.rejects(
    files['fs.remove'](...aside({ path: join(root, 'door/secret'), recursive: false })),
    isRefusal('capability_denied'),
  )
  for (const path of ['relative', '', 'a\0b'])
    await assert.rejects(files['fs.stat']({ path }), isRefusal('invalid_parameter'), path)
  assert.deepEqual(await readdir(outside), ['secret'])
})

test('a folder that is repeatedly swapped for a symlink never leads outside', async (t) => {
  const root = await room(t)
  const outside = await room(t)
  await writeFile(join(outside, 'secret'), '')
  await mkdir(join(root, 'real'))
  await symlink(outside, join(root, 'link'))
  const files = await filesIn(t, [root])
  const list = (name: string) => files['fs.list']({ path: join(root, name), cursor: null, limit: 10 })
  // Without swapping, one is shown and the other denied. During swapping, only these two results may occur.
  assert.deepEqual((await list('real')).entries, [])
  await assert.rejects(list('link'), { code: 'capability_denied' })
  const swaps = new Int32Array(new SharedArrayBuffer(4))
  const swapper = new Worker(
    // After losing a turn to the other side it starts over: no `x`, the link in its place, no link in the folder's.
    `const { readlinkSync, renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs')
     const { root, outside, swaps } = require('node:worker_threads').workerData
     const at = (name) => root + '/' + name
     for (;; Atomics.add(swaps, 0, 1)) try {
       renameSync(at('real'), at('x')); renameSync(at('link'), at('real'))
       renameSync(at('real'), at('link')); renameSync(at('x'), at('real'))
     } catch {
       try { readlinkSync(at('real')); unlinkSync(at('real')) } catch {}
       try { rmSync(at('x'), { recursive: true, force: true }) } catch {}
       try { symlinkSync(outside, at('link')) } catch {}
     }`,
    { eval: true, workerData: { root, outside, swaps } },
  )
  // It stops before the folder that it swaps is removed: hooks of a test run in the order in which they were set.
  await using _swapping = { [Symbol.asyncDispose]: async () => void (await swapper.terminate()) }
  for (let n = 0; n < 500 || Atomics.load(swaps, 0) < 500; n++) {
    try {
      const { entries } = await list('real')
      assert.deepEqual(
        entries.map(({ name }) => name).filter((name) => !name.startsWith('made')),
        [],
      )
      await files['fs.mkdir']({ path: join(root, `real/made${n}`), parents: false })
      await files['fs.remove'](...aside({ path: join(root, 'real'), recursive: n % 50 === 49 }))
      await mkdir(join(root, 'real')).catch(() => {})
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    }
  }
  assert.deepEqual(await readdir(outside), ['secret'])
  await rename(join(root, 'real'), join(root, 'end')).catch(() => {})
})

test('browsing starts at the home folder if it is allowed, else at the first allowed folder that exists', async (t) => {
  const top = await realpath(await room(t))
  const [first, second, missing] = ['first', 'second', 'missing'].map((name) => join(top, name)) as [
    string,
    string,
    string,
  ]
  await mkdir(first)
  await mkdir(second)
  const home = await realpath(homedir())
  for (const [allowed, start] of [
    [['/'], home],
    [[first, second], first],
    [[missing, second], second],
    [[first, home], home],
  ] as const)
    assert.deepEqual(await (await filesIn(t, allowed))['fs.start'](), { path: start }, allowed.join())
  await assert.rejects((await filesIn(t, [missing]))['fs.start'](), isRefusal('not_found'))
})
