import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestDatabase, testDatabase } from '#test/database.ts'
import { type Sent, allEvents, readEvents } from '#test/events.ts'
import { startProgram, temporaryDir } from '#test/program.ts'
import { type Caller, type Person, caller, testServer } from '#test/server.ts'

const script = (...turns: object[][]): string => JSON.stringify({ turns })
const call = (name: string, given: object) => ({ tool_call: { name, arguments: given } })
const types = (events: readonly Sent[]): string[] => events.map(({ event }) => event)

function urlOf({ connection: { user, password, host, port, database } }: TestDatabase): string {
  const url = new URL('postgresql://localhost')
  url.username = String(user)
  url.password = String(password)
  url.pathname = `/${database}`
  url.searchParams.set('host', String(host))
  if (port !== undefined) url.searchParams.set('port', String(port))
  return url.href
}

/** A run of an agent with these tools that is under way in its first call. */
async function inCall(who: Caller, tool: string, given: object): Promise<{ chat: string; run: string; seen: Sent[] }> {
  const tools = [{ name: tool, policy: 'allow' }]
  const agent = (await who.post('/agents', { name: 'Worker', model: 'sim/script', tools })).body.data.id
  const chat = (await who.post('/chats', { agent_id: agent })).body.data.id
  const content = script([{ text: 'I try. ' }, call(tool, given)], [{ text: 'It is done.' }])
  const seen: Sent[] = []
  for await (const event of readEvents(who, `/chats/${chat}/messages/stream`, { body: { content } })) {
    seen.push(event)
    if (event.event === 'tool_call.completed') break
  }
  return { chat, run: seen[0]!.data.run_id, seen }
}

test('a server is killed during calls of tools: what may be repeated is, what may have been done asks first; a goal goes on', async () => {
  await using database = await testDatabase()
  using dir = temporaryDir()
  const first = startProgram({ UK_DATA_DIR: dir.path, DATABASE_URL: urlOf(database), UK_LOG: 'error' })
  let alice: Person
  {
    await using here = await testServer({ database })
    alice = await here.person('Alice')
  }
  const there = caller(await first.ready, alice.headers)
  const long = (await there.post('/chats', { model: 'sim/script' })).body.data.id
  const endless = JSON.stringify({ steps: [{ text: 'x' }, { delay_ms: 60_000 }] })
  const operation = (await there.post(`/chats/${long}/messages`, { content: endless, background: true })).body.data.id
  let state = await there.get(`/operations/${operation}`)
  while (state.body.data.status !== 'running') state = await there.get(`/operations/${operation}`)
  const safe = await inCall(there, 'operations.await', { id: operation, since_status: 'running', timeout_seconds: 3 })
  const other = (await there.post('/chats', { model: 'sim/script' })).body.data.id
  const pursued = (await there.post('/chats', { model: 'sim/script' })).body.data.id
  await there.post(`/chats/${pursued}/goal`, { objective: endless })
  let goal = (await there.get(`/chats/${pursued}/goal`)).body.data
  while (goal.run_id === null) goal = (await there.get(`/chats/${pursued}/goal`)).body.data
  // Once it has said something it cannot begin again as if nothing had been.
  for await (const { event } of readEvents(there, `/chats/${pursued}/runs/${goal.run_id}/events`))
    if (event === 'text.delta') break
  const unsafe = await inCall(there, 'chats.send', { id: other, content: endless })
  await using watching = await testServer({ database })
  const { pool } = watching.app.engine.postgres
  const begun = async () =>
    (await pool.query(`select 1 from steps where kind = 'tool' and status = 'running'`)).rowCount
  while ((await begun()) !== 2);
  first.child.kill('SIGKILL')
  await first.exited

  await using server = await testServer({ database })
  const here = caller(server.origin, alice.headers)
  const log = await allEvents(here, `/chats/${safe.chat}/runs/${safe.run}/events`)
  assert.deepEqual(log.slice(0, safe.seen.length), safe.seen)
  assert.deepEqual(
    [types(log).at(-1), types(log).filter((type) => type === 'tool_result').length],
    ['run.completed', 1],
  )
  assert.deepEqual(
    log.map(({ id }) => Number(id)),
    log.map((_, i) => i + 1),
  )
  assert.equal(log.at(-3)!.data.message.text, 'I try. It is done.')
  // Each turn of the model is one call and is paid once.
  await server.app.engine.ledger.flush()
  await watching.app.engine.ledger.flush()
  const { rows } = await pool.query(
    'select count(*)::int as calls, sum(cost_nano)::int8 as nano from calls where run_id = $1',
    [safe.run],
  )
  const { run } = log.at(-1)!.data
  assert.deepEqual([rows[0].calls, Number(rows[0].nano) / 1e9], [2, run.cost_usd])

  const path = `/chats/${unsafe.chat}/runs/${unsafe.run}`
  let waits = (await here.get(path)).body.data
  while (waits.status === 'running') waits = (await here.get(path)).body.data
  assert.deepEqual([waits.status, waits.status_reason], ['requires_action', 'interrupted'])
  const [action] = waits.pending_actions
  assert.deepEqual([action.kind, action.tool, action.arguments.id], ['interrupted', 'chats.send', other])
  const output = 'It had been sent.'
  await here.post(`${path}/actions`, { actions: [{ id: action.id, decision: 'allow', output }] })
  const rest = await allEvents(here, `${path}/events`)
  assert.equal(types(rest).at(-1), 'run.completed')
  assert.equal(rest.at(-3)!.data.message.text, 'I try. It is done.')
  assert.equal((await here.get(`/chats/${other}/messages`)).body.data.length, 2)

  // Its goal goes on with another turn.
  while (goal.turns_used < 2 || goal.run_id === null) goal = (await here.get(`/chats/${pursued}/goal`)).body.data
  assert.deepEqual([goal.status, goal.turns_used], ['active', 2])
  const [, broken] = (await here.get(`/chats/${pursued}/runs`)).body.data
  assert.deepEqual([broken.status, broken.error.code, broken.goal_id], ['failed', 'interrupted', goal.id])
  assert.equal((await here.delete(`/chats/${pursued}/goal`)).body.data.status, 'ended')
})

test('a server stops while agents use tools: another goes on where they were; what was allowed once is not done twice', async () => {
  await using database = await testDatabase()
  const first = await testServer({ database, environment: { UK_DRAIN_SECONDS: '0' } })
  const alice = await first.person('Alice')
  await using second = await testServer({ database })
  const there = caller(second.origin, alice.headers)
  const long = (await there.post('/chats', { model: 'sim/script' })).body.data.id
  const endless = JSON.stringify({ steps: [{ text: 'x' }, { delay_ms: 60_000 }] })
  const operation = (await there.post(`/chats/${long}/messages`, { content: endless, background: true })).body.data.id
  let state = await there.get(`/operations/${operation}`)
  while (state.body.data.status !== 'running') state = await there.get(`/operations/${operation}`)
  const other = (await there.post('/chats', { model: 'sim/script' })).body.data.id
  const safe = await inCall(alice, 'operations.await', { id: operation, since_status: 'running', timeout_seconds: 2 })

  const tools = [{ name: 'chats.send', policy: 'ask' }]
  const agent = (await alice.post('/agents', { name: 'Asker', model: 'sim/script', tools })).body.data.id
  const asking = (await alice.post('/chats', { agent_id: agent })).body.data.id
  const content = script([call('chats_send', { id: other, content: endless })], [{ text: 'It is done.' }])
  const { run } = (await alice.post(`/chats/${asking}/messages`, { content })).body.data
  const path = `/chats/${asking}/runs/${run.id}`
  await alice.post(`${path}/actions`, { actions: [{ id: run.pending_actions[0].id, decision: 'allow' }] })
  const { pool } = second.app.engine.postgres
  const begun = async () =>
    (await pool.query(`select 1 from steps where kind = 'tool' and status = 'running'`)).rowCount
  while ((await begun()) !== 2);
  while ((await there.get(`/chats/${other}/messages`)).body.data.length !== 2);
  await first[Symbol.asyncDispose]()

  const log = await allEvents(there, `/chats/${safe.chat}/runs/${safe.run}/events`)
  assert.deepEqual(log.slice(0, safe.seen.length), safe.seen)
  assert.deepEqual(
    [types(log).at(-1), types(log).filter((type) => type === 'tool_result').length],
    ['run.completed', 1],
  )
  assert.deepEqual(
    log.map(({ id }) => Number(id)),
    log.map((_, i) => i + 1),
  )
  assert.equal(log.at(-3)!.data.message.text, 'I try. It is done.')

  let waits = (await there.get(path)).body.data
  while (waits.status !== 'requires_action') waits = (await there.get(path)).body.data
  assert.deepEqual([waits.status_reason, waits.pending_actions[0].kind], ['interrupted', 'interrupted'])
  assert.equal((await there.get(`/chats/${other}/messages`)).body.data.length, 2)
  // To allow it again is to do it again.
  await there.post(`${path}/actions`, { actions: [{ id: waits.pending_actions[0].id, decision: 'allow' }] })
  while ((await there.get(`/chats/${other}/messages`)).body.data.length !== 4);
  await there.post(`/chats/${asking}/stop`)
})
