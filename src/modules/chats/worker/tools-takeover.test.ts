// Long test: runs in the merge check or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { call, script } from '#test/chats/chats.ts'
import { testDatabase } from '#test/database.ts'
import { doomedServer } from '#test/chats/doomed.ts'
import { type SentEvent, allEvents, readEvents, types } from '#test/events.ts'
import { type Caller, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const endless = script({ text: 'x' }, { delay_ms: 60_000 })
const chatOf = async (who: Caller, more: object = { model: 'sim/script' }): Promise<string> =>
  (await who.post('/chats', more)).body.data.id

/** Starts an operation and waits until it runs. */
async function longOperation(who: Caller): Promise<string> {
  const chat = await chatOf(who)
  const { id } = (await who.post(`/chats/${chat}/messages`, { content: endless, background: true })).body.data
  await until(
    async () => (await who.get(`/operations/${id}`)).body.data.status,
    (status) => status === 'running',
  )
  return id
}

const twoCallsBegun = (pool: pg.Pool) =>
  until(
    async () => (await pool.query(`select 1 from steps where kind = 'tool' and status = 'running'`)).rowCount,
    (count) => count === 2,
  )

interface InCall {
  chat: string
  run: string
  seen: SentEvent[]
}

/** Starts a run that is in its first tool call. */
async function inCall(who: Caller, tool: string, given: object): Promise<InCall> {
  const tools = [{ name: tool, policy: 'allow' }]
  const agent = (await who.post('/agents', { name: 'Worker', model: 'sim/script', tools })).body.data.id
  const chat = await chatOf(who, { agent_id: agent })
  const content = script([{ text: 'I try. ' }, call(tool, given)], [{ text: 'It is done.' }])
  const seen: SentEvent[] = []
  for await (const event of readEvents(who, `/chats/${chat}/messages/stream`, { body: { content } })) {
    seen.push(event)
    if (event.event === 'tool_call.completed') break
  }
  return { chat, run: seen[0]!.data.run_id, seen }
}

/** Checks that the run continued to its end, with its earlier events unchanged and its call made once. */
async function wentOn(who: Caller, { chat, run, seen }: InCall) {
  const log = await allEvents(who, `/chats/${chat}/runs/${run}/events`)
  assert.deepEqual(log.slice(0, seen.length), seen)
  assert.deepEqual(
    [types(log).at(-1), types(log).filter((type) => type === 'tool_result').length],
    ['run.completed', 1],
  )
  assert.deepEqual(
    log.map(({ id }) => Number(id)),
    log.map((_, i) => i + 1),
  )
  assert.equal(log.at(-3)!.data.message.text, 'I try. It is done.')
  return log.at(-1)!.data
}

test('after a kill during tool calls, repeatable calls repeat, others ask first, and goals continue', async () => {
  await using doomed = await doomedServer()
  const there = doomed.alice
  const operation = await longOperation(there)
  const safe = await inCall(there, 'operations.await', { id: operation, since_status: 'running', timeout_seconds: 60 })
  const other = await chatOf(there)
  const pursued = await chatOf(there)
  await there.post(`/chats/${pursued}/goal`, { objective: endless })
  const goalOf = async (who: Caller) => (await who.get(`/chats/${pursued}/goal`)).body.data
  let goal = await until(
    () => goalOf(there),
    ({ run_id }) => run_id !== null,
  )
  // After the first text, the run can't restart.
  for await (const { event } of readEvents(there, `/chats/${pursued}/runs/${goal.run_id}/events`))
    if (event === 'text.delta') break
  const unsafe = await inCall(there, 'chats.send', { id: other, content: endless })
  await using watching = await testServer({ database: doomed.database })
  const { pool } = watching.app.engine.postgres
  await twoCallsBegun(pool)
  await doomed.kill()

  await using server = await testServer({ database: doomed.database })
  const here = caller(server.origin, there.headers)
  await here.post(`/operations/${operation}/cancel`)
  const { run } = await wentOn(here, safe)
  // Each model turn is one call and is billed once.
  await server.app.engine.ledger.flush()
  await watching.app.engine.ledger.flush()
  const { rows } = await pool.query(
    'select count(*)::int as calls, sum(cost_nano)::int8 as nano from calls where run_id = $1',
    [safe.run],
  )
  assert.deepEqual([rows[0].calls, Number(rows[0].nano) / 1e9], [2, run.cost_usd])

  const path = `/chats/${unsafe.chat}/runs/${unsafe.run}`
  const waits = await until(
    async () => (await here.get(path)).body.data,
    ({ status }) => status !== 'running',
  )
  assert.deepEqual([waits.status, waits.status_reason], ['requires_action', 'interrupted'])
  const [action] = waits.pending_actions
  assert.deepEqual([action.kind, action.tool, action.arguments.id], ['interrupted', 'chats.send', other])
  const output = 'It had been sent.'
  await here.post(`${path}/actions`, { actions: [{ id: action.id, decision: 'allow', output }] })
  const rest = await allEvents(here, `${path}/events`)
  assert.equal(types(rest).at(-1), 'run.completed')
  assert.equal(rest.at(-3)!.data.message.text, 'I try. It is done.')
  assert.equal((await here.get(`/chats/${other}/messages`)).body.data.length, 2)

  // The goal continues with another turn.
  goal = await until(
    () => goalOf(here),
    ({ turns_used, run_id }) => turns_used >= 2 && run_id !== null,
  )
  assert.deepEqual([goal.status, goal.turns_used], ['active', 2])
  const [, broken] = (await here.get(`/chats/${pursued}/runs`)).body.data
  assert.deepEqual([broken.status, broken.error.code, broken.goal_id], ['failed', 'interrupted', goal.id])
  assert.equal((await here.delete(`/chats/${pursued}/goal`)).body.deleted, true)
})

test('after a shutdown during tool use, another server continues without repeating approved calls', async () => {
  await using database = await testDatabase()
  const first = await testServer({ database, environment: { UK_DRAIN_SECONDS: '0' } })
  const alice = await first.person('Alice')
  await using second = await testServer({ database })
  const there = caller(second.origin, alice.headers)
  const operation = await longOperation(there)
  const other = await chatOf(there)
  const safe = await inCall(alice, 'operations.await', { id: operation, since_status: 'running', timeout_seconds: 60 })

  const tools = [{ name: 'chats.send', policy: 'ask' }]
  const agent = (await alice.post('/agents', { name: 'Asker', model: 'sim/script', tools })).body.data.id
  const asking = await chatOf(alice, { agent_id: agent })
  const content = script([call('chats_send', { id: other, content: endless })], [{ text: 'It is done.' }])
  const { run } = (await alice.post(`/chats/${asking}/messages`, { content })).body.data
  const path = `/chats/${asking}/runs/${run.id}`
  await alice.post(`${path}/actions`, { actions: [{ id: run.pending_actions[0].id, decision: 'allow' }] })
  const { pool } = second.app.engine.postgres
  await twoCallsBegun(pool)
  const waitForEvents = (count: number) =>
    until(
      async () => (await there.get(`/chats/${other}/messages`)).body.data.length,
      (length) => length === count,
    )
  await waitForEvents(2)
  await first[Symbol.asyncDispose]()

  await there.post(`/operations/${operation}/cancel`)
  await wentOn(there, safe)

  const waits = await until(
    async () => (await there.get(path)).body.data,
    ({ status }) => status === 'requires_action',
  )
  assert.deepEqual([waits.status_reason, waits.pending_actions[0].kind], ['interrupted', 'interrupted'])
  assert.equal((await there.get(`/chats/${other}/messages`)).body.data.length, 2)
  // Allowing the call again repeats it.
  await there.post(`${path}/actions`, { actions: [{ id: waits.pending_actions[0].id, decision: 'allow' }] })
  await waitForEvents(4)
  await there.post(`/chats/${asking}/stop`)
})
