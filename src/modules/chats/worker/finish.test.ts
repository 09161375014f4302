import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { readEvents } from '#test/events.ts'
import { bring } from '#test/endpoints/house.ts'
import { caller, testServer } from '#test/server.ts'
import { becomes, until } from '#test/until.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'

test('twenty runs end together, and one with a locked chat delays none of the others', async () => {
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
  const statuses = await Promise.all(
    chats.map((id) => alice.post(`/chats/${id}/messages`, { content, background: true }).then(({ status }) => status)),
  )
  assert.ok(
    statuses.every((status) => status === 202),
    String(statuses),
  )
  const going = async (): Promise<string[]> => {
    const { rows } = await sql<{ chat_id: string }>`select chat_id from runs where completed_at is null`.execute(db)
    return rows.map(({ chat_id }) => chat_id)
  }
  const [lockedChat] = chats
  await db.transaction().execute(async (tx) => {
    await sql`select 1 from resources where id = ${lockedChat!} for update`.execute(tx)
    await becomes(going, [lockedChat!])
  })
  await becomes(going, [])
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

test('disabling a provider in another process fails its current run and keeps the partial answer', async () => {
  await using vendor = await startOpenAI()
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const beyond = caller(twin.origin, alice.headers)
  const models = [{ id: 'gpt-4o', pricing: { input: 1, output: 2 } }]
  const { id } = await bring(alice, vendor, 'slow', { models, test: false })
  const chat = (await alice.post('/chats', { model: 'slow/gpt-4o' })).body.data.id
  vendor.script({ reply: 'word '.repeat(600), perChunkDelayMs: 100, times: 1 })
  const before = vendor.requests.length
  let deltaCount = 0
  await alice.post(`/chats/${chat}/messages`, { content: 'Speak.', background: true })
  const [{ id: going }] = (await alice.get(`/chats/${chat}/runs`)).body.data
  for await (const { event } of readEvents(alice, `/chats/${chat}/runs/${going}/events`))
    if (event.endsWith('.delta') && deltaCount++ === 0)
      assert.equal((await beyond.patch(`/ai-gateway/provider-endpoints/${id}`, { enabled: false })).status, 200)
  assert.ok(deltaCount > 0)
  const [run] = await until(
    async () => (await alice.get(`/chats/${chat}/runs`)).body.data,
    ([first]: { status: string }[]) => first?.status === 'failed',
  )
  assert.equal((run as unknown as { error: { code: string } }).error.code, 'no_route')
  const [, answer] = (await alice.get(`/chats/${chat}/messages?order=asc`)).body.data
  assert.match(answer.text, /^word/)
  await vendor.requests[before]!.ended
  assert.equal(vendor.requests[before]!.aborted, true)
})
