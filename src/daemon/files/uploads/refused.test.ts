/** A refused upload frees its disk space; an interrupted one keeps its part. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Input } from '#daemon-protocol/operations.ts'
import { Refusal } from '#core/errors.ts'
import { type Machine, machine, upload } from '#test/computers/files.ts'

const KB = 1_024
/** A disk of 256 KiB, if one can be mounted. */
function smallDisk(): { root: string; [Symbol.dispose](): void } | null {
  const root = mkdtempSync(join(tmpdir(), 'uk-small-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', root], { stdio: 'ignore' })
  } catch {
    rmSync(root, { recursive: true })
    return null
  }
  return {
    root,
    [Symbol.dispose]() {
      execFileSync('umount', [root])
      rmSync(root, { recursive: true })
    },
  }
}

type Way = { more?: Partial<Input<'fs.write'>>; bytes: number; first?(root: string, open: Machine['open']): unknown }
const path = (root: string): string => join(root, 'new.bin')
const begun = (root: string, open: Machine['open'], size: number | null = 400 * KB): Promise<unknown> =>
  upload(open, Buffer.alloc(KB), { path: path(root), size, complete: false })

const refused: Record<string, Way & { code: string; small?: true }> = {
  'more bytes than announced': { bytes: 2 * KB, more: { size: KB }, code: 'invalid_parameter' },
  'a disk too small for the announced size': { bytes: KB, more: { size: 2 ** 50 }, code: 'storage_full' },
  'a disk that fills up under an upload of unknown size': { bytes: 400 * KB, code: 'storage_full', small: true },
  'a disk that fills up in a later part': {
    bytes: 399 * KB,
    more: { offset: KB },
    first: (root, open) => begun(root, open, null),
    code: 'storage_full',
    small: true,
  },
  'a name that was taken meanwhile': {
    bytes: KB,
    more: { offset: KB },
    async first(root, open) {
      await begun(root, open)
      writeFileSync(path(root), 'another')
    },
    code: 'already_exists',
  },
  'a folder in its place': {
    bytes: KB,
    more: { offset: KB, overwrite: true },
    async first(root, open) {
      await begun(root, open)
      mkdirSync(path(root))
    },
    code: 'invalid_state',
  },
}

const partsIn = (root: string): string[] => readdirSync(root).filter((name) => name.startsWith('.uk-upload-'))
const notesIn = (state: string): string[] => readdirSync(state).filter((name) => !name.startsWith('left.json'))

for (const [what, { more, bytes, first, code, small }] of Object.entries(refused))
  test(`${what} leaves no part`, async (t) => {
    using disk = small ? smallDisk() : null
    if (small && disk === null) return t.skip('no small disk can be mounted here')
    const state = mkdtempSync(join(tmpdir(), 'uk-state-'))
    t.after(() => rmSync(state, { recursive: true, force: true }))
    await using box = await machine({ state, ...(disk && { root: disk.root }) })
    const free = (): number => statfsSync(box.root).bfree
    const before = free()
    await first?.(box.root, box.open)
    await assert.rejects(upload(box.open, Buffer.alloc(bytes), { path: path(box.root), ...more }), (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error))
      assert.equal(error.code, code)
      return true
    })
    assert.deepEqual([partsIn(box.root), notesIn(state)], [[], []])
    if (disk) assert.equal(free(), before)
  })

const kept: Record<string, (box: Machine) => Promise<unknown>> = {
  'a caller that leaves': async (box) => {
    const stream = box.open('fs.write', {
      path: path(box.root),
      key: 'k',
      overwrite: false,
      offset: KB,
      size: 400 * KB,
      complete: true,
    })
    stream.output.catch(() => {})
    await stream.write(Buffer.alloc(KB))
    stream.reset('the caller left')
    return stream.output.catch(() => {})
  },
  'another offset than it is at': (box) =>
    upload(box.open, Buffer.alloc(KB), { path: path(box.root), offset: 5, size: 400 * KB }).catch(({ code }) =>
      assert.equal(code, 'stale_update'),
    ),
  'an end that comes too early': (box) =>
    upload(box.open, Buffer.alloc(KB), { path: path(box.root), offset: KB, size: 400 * KB }).catch(({ code }) =>
      assert.equal(code, 'stale_update'),
    ),
}
for (const [what, act] of Object.entries(kept))
  test(`${what} keeps the part`, async () => {
    await using box = await machine()
    await begun(box.root, box.open)
    await act(box)
    // Starts after the previous write has ended.
    await assert.rejects(upload(box.open, Buffer.alloc(1), { path: path(box.root), offset: 7 }), (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error))
      assert.equal(error.code, 'stale_update')
      assert.ok(Number(error.details?.offset) >= KB)
      return true
    })
    assert.equal(partsIn(box.root).length, 1)
  })

test('a dropped upload leaves no partial file and no record, however often it is dropped', async (t) => {
  const state = mkdtempSync(join(tmpdir(), 'uk-state-'))
  t.after(() => rmSync(state, { recursive: true, force: true }))
  await using box = await machine({ state })
  await begun(box.root, box.open)
  assert.equal(partsIn(box.root).length, 1)
  const about = { path: path(box.root), key: 'k' }
  const drop = () => box.open('fs.upload_drop', about).output
  assert.deepEqual(await Promise.all([drop(), drop()]), [{}, {}])
  assert.deepEqual([partsIn(box.root), notesIn(state)], [[], []])
  assert.deepEqual(await drop(), {})
})

test('dropping an upload waits until its writer has stopped', async (t) => {
  const state = mkdtempSync(join(tmpdir(), 'uk-state-'))
  t.after(() => rmSync(state, { recursive: true, force: true }))
  await using box = await machine({ state })
  const about = { path: path(box.root), key: 'k' }
  const stream = box.open('fs.write', { ...about, overwrite: false, offset: 0, size: 400 * KB, complete: true })
  const outcome = stream.output.catch(() => 'stopped')
  await stream.write(Buffer.alloc(300 * KB))
  for await (const item of stream) if (item.type === 'event') break
  const drop = () => box.open('fs.upload_drop', about).output
  await assert.rejects(drop(), { code: 'concurrency_limited' })
  assert.equal(partsIn(box.root).length, 1)
  stream.reset('the caller lost the right')
  assert.deepEqual([await outcome, await drop()], ['stopped', {}])
  assert.deepEqual([partsIn(box.root), notesIn(state)], [[], []])
})
