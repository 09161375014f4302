import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { sql } from 'kysely'
import { testServer } from '#test/server.ts'

test('of twenty runs that end at once, one whose chat somebody holds keeps nobody waiting, and ends when it is free', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { db } = server.app.engine.postgres
  const content = JSON.stringify({ steps: [{ text: 'done' }, { delay_ms: 4_000 }] })
  const chats = await Promise.all(
    Array.from(
      { length: 20 },
      async () => (await alice.post('/chats', { model: 'sim/script' })).body.data.id as string,
    ),
  )
  const sent = await Promise.all(
    chats.map((id) => alice.post(`/chats/${id}/messages`, { content, background: true }).then(({ status }) => status)),
  )
  assert.ok(
    sent.every((status) => status === 202),
    String(sent),
  )
  const going = async (): Promise<string[]> => {
    const { rows } = await sql<{ chat_id: string }>`select chat_id from runs where completed_at is null`.execute(db)
    return rows.map(({ chat_id }) => chat_id)
  }
  const [held] = chats
  await db.transaction().execute(async (tx) => {
    await sql`select 1 from resources where id = ${held!} for update`.execute(tx)
    for (let i = 0; i < 600 && (await going()).length > 1; i++) await sleep(50)
    assert.deepEqual(await going(), [held])
  })
  for (let i = 0; i < 600 && (await going()).length > 0; i++) await sleep(50)
  assert.deepEqual(await going(), [])
  for (const id of chats) {
    const { body } = await alice.get(`/chats/${id}/messages?order=asc`)
    assert.deepEqual(
      body.data.map((row: Record<string, unknown>) => [row.role, row.status, row.seq]),
      [
        ['user', 'completed', 1],
        ['assistant', 'completed', 2],
      ],
    )
    assert.equal(body.data[1].text, 'done')
    assert.ok(body.data[1].usage.output_tokens > 0)
  }
  const { rows } = await sql<{
    n: number
  }>`select count(*)::int as n from steps where status = 'completed' and index = 1`.execute(db)
  assert.equal(rows[0]!.n, 20)
})
