import assert from 'node:assert/strict'
import promises, { mkdtemp, readdir, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { newId } from '#core/ids.ts'
import { placeIn } from '#infra/backup/layout/places.ts'

test('backups work on file systems without hard links, such as FAT, with each instance’s kept apart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'uk-places-'))
  const refused = mock.method(promises, 'link', async () => {
    throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' })
  })
  syncBuiltinESMExports()
  try {
    const [first, second] = [newId(), newId()]
    assert.equal(await placeIn(folder, first), folder)
    assert.equal(await placeIn(folder, second), join(folder, second))
    assert.equal(await placeIn(folder, first), folder)
    assert.deepEqual(await readdir(folder), ['instance'])
    assert.equal(refused.mock.callCount(), 1)
  } finally {
    refused.mock.restore()
    syncBuiltinESMExports()
    await rm(folder, { recursive: true })
  }
})
