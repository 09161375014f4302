import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { type Caller, testServer } from '#test/server.ts'

const folder = async (who: Caller, place: object, name: string): Promise<{ id: string }> =>
  (await who.post('/drive/files/folders', { ...place, name })).body.data
const write = async (who: Caller, place: object, name: string, content = name): Promise<{ id: string }> =>
  (await who.post('/drive/files', { ...place, name, content })).body.data

test('a folder can be trashed, restored and moved to another workspace while its contents are written', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const home = await folder(alice, { workspace_id: alice.workspaceId }, 'home')
  const away = await folder(alice, { workspace_id: team.id }, 'away')
  const plans = await folder(alice, { parent_id: home.id }, 'Plans')
  const files = await Promise.all(
    Array.from({ length: 4 }, (_, i) => write(alice, { parent_id: plans.id }, `${i}.txt`)),
  )
  const faults: string[] = []
  const writing = { over: false }
  const writers = files.map(async ({ id }, i) => {
    for (let n = 0; !writing.over; n++) {
      const { status, text } = await alice.patch(`/drive/files/${id}`, { content: `${i} ${n}` })
      if (status >= 500) faults.push(text)
    }
  })
  for (let round = 0; round < 12; round++)
    for (const answer of [
      await alice.delete(`/drive/files/${plans.id}`),
      await alice.post(`/drive/files/${plans.id}/restore`),
      await alice.post(`/drive/files/${plans.id}/move`, { parent_id: round % 2 === 0 ? away.id : home.id }),
    ])
      if (answer.status !== 200) faults.push(answer.text)
  writing.over = true
  await Promise.all(writers)
  assert.deepEqual(faults, [])
})

test('two folders with the same contents in different order can be copied at the same time', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const names = Array.from({ length: 12 }, (_, i) => `text ${i}`)
  const ids: string[] = []
  for (const order of [names, names.toReversed()]) {
    const { id } = await folder(alice, { workspace_id: alice.workspaceId }, `of ${ids.length}`)
    ids.push(id)
    for (const [i, content] of order.entries()) await write(alice, { parent_id: id }, `${100 + i}`, content)
  }
  for (let round = 0; round < 4; round++) {
    const copies = [...ids, ...ids].map((id) =>
      alice.post(`/drive/files/${id}/copy`, { workspace_id: alice.workspaceId }),
    )
    for (const { status, text } of await Promise.all(copies)) assert.equal(status, 201, text)
  }
})

test('after a crash between storing bytes and their row, uploading the same bytes stores them', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { engine } = server.app
  const at = { workspace_id: alice.workspaceId }
  const first = await write(alice, at, 'one.txt', 'the same words')
  await alice.delete(`/drive/files/${first.id}`)
  await alice.delete(`/drive/files/${first.id}/permanent-delete`)
  const dying = {
    ...engine.blobs,
    async remove(place: string) {
      await engine.blobs.remove(place)
      throw new Error('the power is gone')
    },
  }
  const now = { graceMinutes: 0, strayMinutes: 0 }
  await assert.rejects(sweepBlobs({ postgres: engine.postgres, blobs: dying }, now))
  const again = await write(alice, at, 'two.txt', 'the same words')
  assert.equal((await alice.get(`/drive/files/${again.id}`)).text, 'the same words')
  await sweepBlobs(engine, now)
  assert.equal((await alice.get(`/drive/files/${again.id}`)).text, 'the same words')
})

test('ten concurrent uploads of one name as its next version each become a version', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  for (const round of [1, 2]) {
    const { id } = await folder(alice, { workspace_id: alice.workspaceId }, `folder ${round}`)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        alice.post('/drive/files', { parent_id: id, name: 'a.txt', content: `by ${i}`, on_conflict: 'version' }),
      ),
    )
    assert.deepEqual(
      responses.map(({ status }) => status).toSorted((a, b) => a - b),
      [...Array.from({ length: 9 }, () => 200), 201],
      responses.map(({ text }) => text).join('\n'),
    )
    const [file] = (await alice.get(`/drive/files?parent_id=${id}`)).body.data
    const contents = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => (await alice.get(`/drive/files/${file.id}?version=${i + 1}`)).text),
    )
    assert.deepEqual(
      contents.toSorted(),
      Array.from({ length: 10 }, (_, i) => `by ${i}`),
    )
  }
})
