// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killUploads, writeAtOnce } from '#test/drive/trouble.ts'
import { testServer } from '#test/server.ts'

test('concurrent edits of one file are serialized, and each rejected one gets the current state', () =>
  writeAtOnce({ writers: 10, attempts: 12 }))

test('killing the server or the client during an upload leaves the old or the complete new content and no stray bytes', () =>
  killUploads({ rounds: 3, size: 2_000_000 }))

test('folders can be 128 levels deep and paths 4,096 bytes long, also after moves and renames', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const make = (place: object, name: string) => alice.post('/drive/files/folders', { ...place, name })
  const chain = async (names: readonly string[]): Promise<string[]> => {
    const ids: string[] = []
    for (const name of names) {
      const place = ids.length === 0 ? { workspace_id: alice.workspaceId } : { parent_id: ids.at(-1) }
      ids.push((await make(place, name)).body.data.id)
    }
    return ids
  }
  const deep = await chain(Array.from({ length: 128 }, () => 'd'))
  const deeper = await make({ parent_id: deep.at(-1) }, 'e')
  assert.deepEqual([deeper.status, deeper.body.error.param], [400, 'parent_id'], deeper.text)
  const two = await chain(['x', 'y'])
  const response = await alice.post(`/drive/files/${two[0]}/move`, { parent_id: deep[126] })
  assert.deepEqual([response.status, response.body.error.param], [400, 'parent_id'], response.text)
  const long = await chain(Array.from({ length: 15 }, (_, i) => `${i}`.padEnd(250, 'n')))
  const last = (await alice.post('/drive/files', { parent_id: long.at(-1), name: 'n'.repeat(200), content: 'x' })).body
    .data
  assert.equal(Buffer.byteLength(last.path), 15 * 251 + 200)
  const renamed = await alice.patch(`/drive/files/${long[0]}`, { name: 'é'.repeat(127) })
  assert.equal(renamed.status, 200, renamed.text)
  const further = await alice.post(`/drive/files/${long[0]}/move`, { parent_id: deep[90] })
  assert.deepEqual([further.status, further.body.error.param], [400, 'parent_id'], further.text)
})
