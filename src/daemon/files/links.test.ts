/** What each file operation does with symlinks: the table in docs/guides/computers/commands-and-files.md, cell by cell. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { operations } from '#daemon-protocol/operations.ts'
import { Refusal } from '#core/errors.ts'
import { type Machine, download, machine, upload } from '#test/computers/files.ts'

/** The paths of the table, below the allowed folder. */
const PATHS = {
  'a file': 'real.txt',
  'a folder': 'folder',
  nothing: 'none.txt',
  'a link to a file': 'link',
  'a link to a link to a file': 'chain',
  'a link to a file by its absolute path': 'absolute',
  'a link to a folder': 'to-folder',
  'a dangling link': 'dangling',
  'a dangling link into a folder that is missing': 'deep',
  'a link to itself': 'loop',
  'a link to a file outside': 'out-file',
  'a link to a folder outside': 'out-folder',
  'a dangling link to outside': 'out-none',
  'a link to the folder above by `..`': 'up',
  'a file behind a link in the middle': 'to-folder/inner.txt',
  'nothing behind a link in the middle': 'to-folder/new.txt',
  'a file outside, behind a link in the middle': 'out-folder/secret.txt',
  'nothing outside, behind a link in the middle': 'out-folder/new.txt',
  'something below a file': 'real.txt/x',
  'something below a dangling link': 'dangling/x',
  'a pipe': 'pipe',
} as const
type Kind = keyof typeof PATHS
const kinds = Object.keys(PATHS) as Kind[]

/** Creates both folders; where they exist, anew. */
function plant(top = mkdtempSync(join(tmpdir(), 'uk-links-'))): { root: string; outside: string; top: string } {
  const [root, outside] = [join(top, 'root'), join(top, 'outside')]
  for (const folder of [root, outside]) rmSync(folder, { recursive: true, force: true })
  for (const folder of [root, outside, join(root, 'folder')]) mkdirSync(folder)
  writeFileSync(join(root, 'real.txt'), 'old')
  writeFileSync(join(root, 'folder/inner.txt'), 'inner')
  writeFileSync(join(outside, 'secret.txt'), 'secret')
  const links = {
    link: 'real.txt',
    chain: 'link',
    absolute: join(root, 'real.txt'),
    'to-folder': 'folder',
    dangling: 'missing.txt',
    deep: 'missing/deep.txt',
    loop: 'loop',
    'out-file': '../outside/secret.txt',
    'out-folder': '../outside',
    'out-none': join(outside, 'none.txt'),
    up: '..',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
  execFileSync('mkfifo', [join(root, 'pipe')])
  return { root, outside, top }
}

/** The contents of a folder by path. */
function looks(folder: string, prefix = ''): Map<string, string> {
  const state = new Map<string, string>()
  for (const name of readdirSync(folder).toSorted()) {
    const path = join(folder, name)
    const stats = lstatSync(path)
    if (stats.isDirectory()) {
      state.set(`${prefix}${name}/`, 'folder')
      for (const [below, what] of looks(path, `${prefix}${name}/`)) state.set(below, what)
    } else if (stats.isSymbolicLink()) state.set(prefix + name, `-> ${readlinkSync(path)}`)
    else state.set(prefix + name, stats.isFile() ? readFileSync(path, 'utf8') : 'other')
  }
  return state
}

/** `+made -removed ~changed` */
function changes(before: Map<string, string>, after: Map<string, string>): string {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  return names
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${!before.has(name) ? '+' : !after.has(name) ? '-' : '~'}${name}`)
    .join(' ')
}

type Act = (open: Machine['open'], path: string) => Promise<string>
const untar = (tar: Buffer): string => execFileSync('tar', ['-t'], { input: tar }).toString().trim()
const write =
  (overwrite: boolean): Act =>
  async (open, path) => {
    await upload(open, Buffer.from('new'), { path, overwrite, size: 3 })
    return ''
  }

const acts = {
  'fs.list': async (open, path) => {
    const { entries } = await open('fs.list', { path, cursor: null, limit: 10 }).output
    return entries.map(({ name }) => name).join()
  },
  'fs.stat': async (open, path) => {
    const { type, target } = await open('fs.stat', { path }).output
    return target === null ? type : `${type} to ${target.replace(/^\/.*\//, '/…/')}`
  },
  'fs.mkdir': async (open, path) => (await open('fs.mkdir', { path, parents: false }).output).type,
  'fs.mkdir with parents': async (open, path) => (await open('fs.mkdir', { path, parents: true }).output).type,
  'fs.remove': async (open, path) => String((await open('fs.remove', { path, recursive: false }).output).removed),
  'fs.remove with all in it': async (open, path) =>
    String((await open('fs.remove', { path, recursive: true }).output).removed),
  'fs.read': async (open, path) => (await download(open, { path })).bytes.toString(),
  'fs.read as an archive': async (open, path) => untar((await download(open, { path, archive: 'tar' })).bytes),
  'fs.upload_offset': async (open, path) => String((await open('fs.upload_offset', { path, key: 'k' }).output).offset),
  'fs.upload_drop': async (open, path) => {
    await open('fs.upload_drop', { path, key: 'k' }).output
    return 'done'
  },
  'fs.write': write(false),
  'fs.write over what is there': write(true),
} satisfies Record<string, Act>
type Deed = keyof typeof acts

/** The codes of refusals in the table. */
const CODES: Record<string, string> = {
  outside: 'capability_denied',
  absent: 'not_found',
  wrong: 'invalid_parameter',
  taken: 'already_exists',
  state: 'invalid_state',
}

/** In the order of `PATHS`: `=answer`, what changed in the folder, or why it is refused. */
const table: Record<Deed, string> = {
  // As `ls`: a link to a folder is followed.
  'fs.list': `
    wrong; =inner.txt; absent; wrong; wrong; wrong; =inner.txt; absent; absent; wrong; outside; outside;
    outside; outside; wrong; absent; outside; outside; wrong; absent; wrong`,
  // As lstat(2): the link itself.
  'fs.stat': `
    =file; =folder; absent; =symlink to real.txt; =symlink to link; =symlink to /…/real.txt;
    =symlink to folder; =symlink to missing.txt; =symlink to missing/deep.txt; =symlink to loop;
    =symlink to ../outside/secret.txt; =symlink to ../outside; =symlink to /…/none.txt; =symlink to ..; =file;
    absent; outside; outside; wrong; absent; =other`,
  // Like `mkdir`: an existing name blocks it, whatever it is.
  'fs.mkdir': `
    taken; taken; =folder +none.txt/; taken; taken; taken; taken; taken; taken; taken; taken; taken; taken;
    taken; taken; =folder +folder/new.txt/; outside; outside; wrong; absent; taken`,
  // As `mkdir -p`: a folder is fine, also behind a link.
  'fs.mkdir with parents': `
    taken; =folder; =folder +none.txt/; taken; taken; taken; =folder; taken; taken; taken; outside; outside;
    outside; outside; taken; =folder +folder/new.txt/; outside; outside; wrong; taken; taken`,
  // As `rm`: the link, never what it names.
  'fs.remove': `
    =1 -real.txt; state; absent; =1 -link; =1 -chain; =1 -absolute; =1 -to-folder; =1 -dangling; =1 -deep;
    =1 -loop; =1 -out-file; =1 -out-folder; =1 -out-none; =1 -up; =1 -folder/inner.txt; absent; outside;
    outside; wrong; absent; =1 -pipe`,
  'fs.remove with all in it': `
    =1 -real.txt; =2 -folder/ -folder/inner.txt; absent; =1 -link; =1 -chain; =1 -absolute; =1 -to-folder;
    =1 -dangling; =1 -deep; =1 -loop; =1 -out-file; =1 -out-folder; =1 -out-none; =1 -up; =1 -folder/inner.txt;
    absent; outside; outside; wrong; absent; =1 -pipe`,
  // As `cat` and `scp`: links are followed.
  'fs.read': `
    =old; wrong; absent; =old; =old; =old; wrong; absent; absent; wrong; outside; outside; outside; outside;
    =inner; absent; outside; outside; wrong; absent; wrong`,
  'fs.read as an archive': `
    wrong; =inner.txt; absent; wrong; wrong; wrong; =inner.txt; absent; absent; wrong; outside; outside;
    outside; outside; wrong; absent; outside; outside; wrong; absent; wrong`,
  'fs.upload_offset': `
    =0; =0; =0; =0; =0; =0; =0; =0; absent; wrong; outside; outside; outside; outside; =0; =0; outside;
    outside; wrong; absent; =0`,
  'fs.upload_drop': `
    =done; =done; =done; =done; =done; =done; =done; =done; absent; wrong; outside; outside; outside; outside; =done;
    =done; outside; outside; wrong; absent; =done`,
  // Like `cp -n`: a link has the name, whatever its target.
  'fs.write': `
    taken; state; = +none.txt; taken; taken; taken; state; taken; absent; wrong; outside; outside; outside;
    outside; taken; = +folder/new.txt; outside; outside; wrong; absent; taken`,
  // As `scp` and `>`: the file that a link names is written, or made.
  'fs.write over what is there': `
    = ~real.txt; state; = +none.txt; = ~real.txt; = ~real.txt; = ~real.txt; state; = +missing.txt; absent;
    wrong; outside; outside; outside; outside; = ~folder/inner.txt; = +folder/new.txt; outside; outside; wrong;
    absent; state`,
}
const cellsOf = (row: string): string[] => row.split(';').map((cell) => cell.trim())

/** The operations that name no path. */
const PATHLESS = ['fs.start']

test('the table covers each file operation and each kind of path', () => {
  const fileOperations = Object.keys(operations).filter((op) => op.startsWith('fs.'))
  const covered = new Set([...Object.keys(acts).map((deed) => deed.split(' ')[0]!), ...PATHLESS])
  assert.deepEqual([...covered].toSorted(), fileOperations.toSorted())
  for (const [deed, row] of Object.entries(table)) assert.equal(cellsOf(row).length, kinds.length, deed)
})

for (const [deed, row] of Object.entries(table) as [Deed, string][])
  test(`${deed} on 21 kinds of paths, without effect outside`, async () => {
    const { root, outside, top } = plant()
    try {
      await using box = await machine({ root })
      const [before, outsideBefore] = [looks(root), looks(outside)]
      for (const [at, kind] of kinds.entries()) {
        const answer = await acts[deed](box.open, join(root, PATHS[kind])).then(
          (said) => `=${said}`,
          (error: unknown) => {
            assert.ok(error instanceof Refusal, `${kind}: ${String(error)}`)
            return error.code
          },
        )
        const changed = changes(before, looks(root))
        const cell = cellsOf(row)[at]!
        assert.equal([answer, changed].filter(Boolean).join(' '), CODES[cell] ?? cell, `${deed} of ${kind}`)
        assert.deepEqual(looks(outside), outsideBefore, kind)
        if (changed !== '') plant(top)
      }
    } finally {
      rmSync(top, { recursive: true, force: true })
    }
  })

test('a refusal names the link and reveals nothing outside the allowed folder', async () => {
  const { root, top } = plant()
  try {
    await using box = await machine({ root })
    const refusalOf = (deed: Deed, name: string): Promise<unknown> =>
      acts[deed](box.open, join(root, name)).then(
        () => null,
        ({ code, message, details, param }: Refusal) =>
          JSON.parse(JSON.stringify({ code, message, details, param }).replaceAll(name, 'NAME')),
      )
    for (const deed of Object.keys(acts) as Deed[])
      if (deed !== 'fs.stat' && !deed.startsWith('fs.remove') && deed !== 'fs.mkdir')
        assert.deepEqual(await refusalOf(deed, 'out-file'), await refusalOf(deed, 'out-none'), deed)
    await assert.rejects(write(true)(box.open, join(root, 'out-file')), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.details?.path], ['capability_denied', join(root, 'out-file')])
      return true
    })
  } finally {
    rmSync(top, { recursive: true, force: true })
  }
})

test('writing through a link keeps the link and the mode of the file, and a download has the name of the link', async () => {
  const { root, top } = plant()
  try {
    execFileSync('chmod', ['640', join(root, 'real.txt')])
    await using box = await machine({ root })
    const { entry } = await upload(box.open, Buffer.from('new'), { path: join(root, 'chain'), overwrite: true })
    assert.deepEqual([entry!.path, entry!.type, entry!.mode], [join(root, 'real.txt'), 'file', 0o640])
    assert.equal(readlinkSync(join(root, 'chain')), 'link')
    const stream = box.open('fs.read', { path: join(root, 'link'), offset: 0, length: 0, archive: null })
    const names: string[] = []
    for await (const item of stream)
      if (item.type === 'event') names.push((item.event as { entry: { name: string } }).entry.name)
    assert.deepEqual(names, ['link'])
  } finally {
    rmSync(top, { recursive: true, force: true })
  }
})

test('an upload through a link resumes, with its part next to the target', async () => {
  const { root, top } = plant()
  try {
    symlinkSync('folder/inner.txt', join(root, 'far'))
    await using box = await machine({ root })
    const part = { path: join(root, 'far'), overwrite: true, size: 6 }
    await upload(box.open, Buffer.from('abc'), { ...part, complete: false })
    assert.deepEqual(readdirSync(join(root, 'folder')).filter((name) => name.startsWith('.uk-upload-')).length, 1)
    assert.equal((await box.open('fs.upload_offset', { path: part.path, key: 'k' }).output).offset, 3)
    await upload(box.open, Buffer.from('def'), { ...part, offset: 3 })
    assert.equal(readFileSync(join(root, 'folder/inner.txt'), 'utf8'), 'abcdef')
    assert.deepEqual(readdirSync(join(root, 'folder')), ['inner.txt'])
  } finally {
    rmSync(top, { recursive: true, force: true })
  }
})
