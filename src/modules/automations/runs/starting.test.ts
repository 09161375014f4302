import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { copyAutomation } from '#test/automations/copies.ts'
import { testDatabase } from '#test/database.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

type Row = Record<string, any>

const agentOf = async (person: Person): Promise<string> =>
  (await person.post('/agents', { name: 'Clerk', model: 'sim/echo' })).body.data.id

async function make(person: Person, action: Row): Promise<string> {
  const template = { name: 'Report', kind: 'cron', schedule: '0 0 1 1 *', action: { type: 'agent', ...action } }
  const answer = await person.post('/automations', template)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data.id
}

async function allOver(pool: pg.Pool, count: number): Promise<Row[]> {
  return until(
    async () => (await pool.query<Row>('select * from automation_runs order by started_at, id')).rows,
    (rows) => rows.length >= count && rows.every(({ status }) => status !== 'queued' && status !== 'running'),
  )
}

test('250 due automations of one owner and one of another run once each on two processes, the other’s among the first; a refused one fails alone', async () => {
  await using database = await testDatabase()
  await using server = await testServer({ database })
  await using _second = await testServer({ database })
  const { pool } = server.app.engine.postgres
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const agent_id = await agentOf(alice)
  const many = await make(alice, { agent_id, chat_id: null, prompt: 'Report the news.' })
  await copyAutomation(pool, many, 250)
  const chat_id = (await alice.post('/chats', { title: 'The desk', agent_id })).body.data.id
  const there = await make(alice, { agent_id, chat_id, prompt: 'Tidy up.' })
  const lostAgent = await agentOf(alice)
  const failingAutomation = await make(alice, { agent_id: lostAgent, chat_id: null, prompt: 'Hello?' })
  assert.equal((await alice.delete(`/agents/${lostAgent}`)).status, 200)
  await pool.query(`update accounts set tier = 'unlimited'`)
  const bobs = await make(bob, { agent_id: await agentOf(bob), chat_id: null, prompt: 'Good morning.' })

  // His is last in order, so only his workspace's share brings it forward.
  await pool.query(
    `update automations set next_fire_at = date_trunc('milliseconds', now()) - case when id = $1 then interval '0' else interval '1 s' end`,
    [bobs],
  )
  const rows = await allOver(pool, 254)
  assert.equal(rows.length, 254)
  assert.equal(new Set(rows.map(({ automation_id }) => automation_id)).size, 254, 'each automation has one run')
  const of = (id: string): Row => rows.find(({ automation_id }) => automation_id === id)!
  const failedRuns = rows.filter(({ status }) => status !== 'succeeded')
  assert.deepEqual(
    failedRuns.map(({ automation_id, error }) => [automation_id, error.type]),
    [[failingAutomation, 'not_found']],
  )
  const before = rows.filter(({ started_at }) => started_at !== null && started_at < of(bobs).started_at)
  assert.ok(before.length < 230, `${before.length} were started before bob’s`)

  const { rows: chats } = await pool.query<Row>(`select automation_run_id, count(*)::int as n from runs group by 1`)
  assert.ok(
    chats.every(({ n }) => n === 1),
    'no run was begun twice',
  )
  const messages = await alice.get(`/chats/${chat_id}/messages?order=asc`)
  assert.deepEqual(
    messages.body.data.map(({ role, text }: Row) => [role, text]),
    [
      ['user', 'Tidy up.'],
      ['assistant', 'Tidy up.'],
    ],
  )
  assert.equal(of(there).chat_id, chat_id)
  const own = of(`01KB${'1'.padStart(22, '0')}`)
  const chat = await alice.get(`/chats/${own.chat_id}`)
  assert.deepEqual(
    [chat.body.data.title, chat.body.data.message_count, chat.body.data.active_run_id],
    ['Report', 2, null],
  )
  const answer = await alice.get(`/chats/${own.chat_id}/messages?order=asc`)
  assert.deepEqual(
    answer.body.data.map(({ role, text, seq, parent_id }: Row) => [role, text, seq, parent_id]),
    [
      ['user', 'Report the news.', 1, null],
      ['assistant', 'Report the news.', 2, answer.body.data[0].id],
    ],
  )
  assert.equal((await bob.get(`/chats/${own.chat_id}`)).status, 404)
})
