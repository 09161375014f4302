/** What a file system may hold, and what it has no room for. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Machine, machine, upload } from '#test/computers/files.ts'
import { until } from '#test/until.ts'

test('an abandoned upload is removed after seven days of machine time, regardless of the wall clock, and no other files are', async () => {
  const root = mkdtempSync(join(tmpdir(), 'uk-files-'))
  const state = mkdtempSync(join(tmpdir(), 'uk-state-'))
  const day = 86_400_000
  let now = { boot: 'one', ms: 5_000 }
  const later = () => machine({ root, state, clock: () => now })
  const parts = () => readdirSync(root).filter((name) => name.startsWith('.uk-upload-'))
  const swept = async (): Promise<void> => {
    const { mtimeMs } = statSync(join(state, 'left.json'))
    await using _box = await later()
    await until(
      async () => statSync(join(state, 'left.json')).mtimeMs,
      (at) => at > mtimeMs,
    )
  }
  try {
    const begin = (box: Machine, name: string, offset = 0) =>
      upload(box.open, Buffer.from('begun'), { path: join(root, name), key: name, offset, size: 100, complete: false })
    const partNames = new Map<string, string>()
    {
      await using box = await later()
      for (const name of ['old', 'moved', 'fresh']) {
        const before = new Set(parts())
        await begin(box, name)
        partNames.set(
          name,
          parts().find((one) => !before.has(one))!,
        )
      }
      await upload(box.open, Buffer.from('whole'), { path: join(root, 'whole'), key: 'whole', size: 5 })
      // A partial file of another daemon or made by hand.
      writeFileSync(join(root, '.uk-upload-0123456789abcdef.part'), 'not ours')
      mkdirSync(join(root, 'kept'))
      await rename(join(root, partNames.get('moved')!), join(root, 'kept', partNames.get('moved')!))
      // The clock on the wall was years off when they were made, one way and the other.
      for (const [name, years] of [
        [partNames.get('old')!, 1],
        [partNames.get('fresh')!, -1],
        [`kept/${partNames.get('moved')}`, -1],
        ['.uk-upload-0123456789abcdef.part', -1],
      ] as const) {
        const then = Date.now() / 1_000 + years * 365 * 86_400
        utimesSync(join(root, name), then, then)
      }
    }
    await swept()
    now = { boot: 'one', ms: 5_000 + 5 * day }
    await swept()
    // The machine starts anew: how long it was off counts for nothing.
    now = { boot: 'two', ms: 100 }
    await swept()
    {
      await using box = await later()
      await begin(box, 'fresh', 5)
    }
    now = { boot: 'two', ms: 100 + day }
    await swept()
    assert.equal(parts().length, 3, 'six days have passed')
    now = { boot: 'two', ms: 100 + 3 * day }
    await swept()
    assert.deepEqual(parts().toSorted(), [partNames.get('fresh'), '.uk-upload-0123456789abcdef.part'].toSorted())
    assert.deepEqual(
      readdirSync(root)
        .filter((name) => !name.startsWith('.'))
        .toSorted(),
      ['kept', 'whole'],
    )
    assert.equal((await readdir(join(root, 'kept'))).length, 1)
    await using again = await later()
    const { offset } = await again.open('fs.upload_offset', { path: join(root, 'fresh'), key: 'fresh' }).output
    assert.equal(offset, 10)
    const result = await upload(again.open, Buffer.alloc(90), {
      path: join(root, 'fresh'),
      key: 'fresh',
      offset: 10,
      size: 100,
    })
    assert.equal(result.entry!.size_bytes, 100)
  } finally {
    for (const folder of [root, state]) rmSync(folder, { recursive: true, force: true })
  }
})
