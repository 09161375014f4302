import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { removeLateWrites } from '../../src/modules/chats/worker/late-writes.ts'

test('late writes to a chat deleted meanwhile are removed, and those of other chats are kept', async () => {
  await using server = await testServer()
  const { pool, db } = server.app.engine.postgres
  const alice = await server.person('Alice')
  const talk = async () => {
    const chat = (await alice.post('/chats', { model: 'sim/echo' })).body.data.id
    const { run } = (await alice.post(`/chats/${chat}/messages`, { content: 'a word in confidence' })).body.data
    return { chat, run: run.id as string }
  }
  const [doomed, kept] = [await talk(), await talk()]
  const events = async (run: string): Promise<number> =>
    (await pool.query('select count(*)::int as n from run_events where run_id = $1', [run])).rows[0].n
  const before = await events(kept.run)
  const late = await pool.connect()
  try {
    // The snapshot of a statement that began before the deletion.
    await late.query('begin isolation level repeatable read')
    await late.query('select from runs limit 1')
    assert.equal((await alice.delete(`/chats/${doomed.chat}`)).status, 200)
    assert.equal((await alice.delete(`/chats/${doomed.chat}/permanent-delete`)).status, 200)
    assert.equal(await events(doomed.run), 0)
    await late.query(
      `insert into run_events (run_id, seq, type, at, data)
        select id, 9000, 'text.delta', now(), '{"delta": "a word in confidence"}' from runs where id = $1`,
      [doomed.run],
    )
    await late.query('commit')
  } finally {
    late.release()
  }
  assert.equal(await events(doomed.run), 1)
  await removeLateWrites(db, 0)
  assert.deepEqual([await events(doomed.run), await events(kept.run)], [0, before])
  assert.equal((await pool.query('select from deleted_runs')).rowCount, 0)
})
