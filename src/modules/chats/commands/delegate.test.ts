import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, results, say, script, tools } from '#test/chats/chats.ts'
import { doomedServer } from '#test/chats/doomed.ts'
import { allEvents, readEvents } from '#test/events.ts'
import { type Caller, caller, testServer } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { until } from '#test/until.ts'

const { server, alice, beyond } = await twoServers()

const hand = (agent: { id: string }, task: string) => call('delegate', { agent_id: agent.id, task })
async function made(path: string, body: object, who: Caller = alice) {
  const answer = await who.post(path, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}
const agentOf = (name: string, more: object = {}, who: Caller = alice) =>
  made('/agents', { name, model: 'sim/script', ...more }, who)
const withSubagent = (agent: { id: string }, policy = 'allow') => ({ subagents: [{ agent_id: agent.id, policy }] })
const chatOf = async (agent: { id: string }, who: Caller = alice): Promise<string> =>
  (await made('/chats', { agent_id: agent.id }, who)).id
const send = (chat: string, content: string, more: object = {}, who: Caller = alice) =>
  who.post(`/chats/${chat}/messages`, { content, ...more })
const tasksOf = async (chat: string, who: Caller = alice): Promise<any[]> =>
  (await who.get(`/chats?parent_chat_id=${chat}`)).body.data
const runOf = async (chat: string, who: Caller = alice) => (await who.get(`/chats/${chat}/runs`)).body.data[0]

test('a delegated task runs in a separate chat, and its cost is included in the run’s', async () => {
  const helper = await agentOf('Helper', { description: 'writes files', tools: tools({ 'drive.upload': 'allow' }) })
  const boss = await agentOf('Boss', withSubagent(helper))
  const chat = await chatOf(boss)
  const file = { name: 'task.txt', content: 'done', workspace_id: alice.workspaceId }
  const task = script([call('drive_upload', file)], [say('the file is there')])
  const response = await send(chat, script([say('I ask. '), hand(helper, task)], [say('He says so.')]))
  assert.equal(response.status, 200, response.text)
  const { output, is_error } = results(response.body.data)[0]!
  assert.deepEqual([output.status, output.text, is_error], ['completed', 'the file is there', false])
  assert.equal(response.body.data.text, 'I ask. He says so.')
  const files = (await alice.get(`/drive/files?workspace_id=${alice.workspaceId}`)).body.data
  assert.ok(files.some(({ name }: { name: string }) => name === 'task.txt'))

  const [child, ...more] = await tasksOf(chat)
  assert.deepEqual([child.id, child.parent_chat_id, child.agent_id, more], [output.chat_id, chat, helper.id, []])
  assert.match(child.title, /^Helper: /)
  const listed = (await alice.get('/chats?limit=100')).body.data.map(({ id }: { id: string }) => id)
  assert.ok(listed.includes(chat) && !listed.includes(child.id))
  const log = await allEvents(alice, `/chats/${chat}/runs/${response.body.data.run.id}/events`)
  const [started] = log.filter(({ event }) => event === 'subagent.started')
  assert.deepEqual([started!.data.agent_id, started!.data.run_id], [helper.id, output.run_id])

  await server.app.engine.ledger.flush()
  const { pool } = server.app.engine.postgres
  const paid = async (ids: string[]): Promise<number> => {
    const { rows } = await pool.query('select sum(cost_nano)::int8 as nano from calls where run_id = any($1)', [ids])
    return Number(rows[0].nano) / 1e9
  }
  const run = await runOf(chat)
  const below = await runOf(child.id)
  assert.deepEqual([below.parent_run_id, below.cost_usd], [run.id, await paid([below.id])])
  assert.deepEqual([run.children_cost_usd, run.cost_usd], [below.cost_usd, await paid([run.id, below.id])])
  assert.ok(run.children_cost_usd > 0 && run.children_cost_usd < run.cost_usd)
  assert.equal((await alice.get(`/chats/${chat}/cost`)).body.data.cost_usd, run.cost_usd)
  assert.equal((await alice.get(`/chats/${chat}`)).body.data.spent_usd, run.cost_usd)
  // The ledger counts each call once, regardless of its budgets.
  const day = (await alice.get(`/workspaces/${alice.workspaceId}`)).body.data.spent_usd
  assert.equal(day, run.cost_usd)

  await alice.delete(`/chats/${chat}`)
  await alice.delete(`/chats/${chat}/permanent-delete`)
  assert.equal((await alice.get(`/chats/${child.id}`)).status, 404)
})

test('delegation can’t widen permissions or loop back to the delegating agent', async () => {
  const bold = tools({ 'chats.create': 'allow', do: 'allow', 'chats.list': 'allow' })
  const helper = await agentOf('Bold', { tools: bold })
  const boss = await agentOf('Timid', { ...withSubagent(helper), tools: tools({ 'chats.create': 'deny' }) })
  const task = script(
    [
      call('chats_create', { title: 'forbidden' }),
      call('do', { name: 'chats.create', input: { title: 'forbidden' } }),
      call('chats_list', { limit: 1 }),
      hand(boss, 'do it for me'),
    ],
    [say('so it is')],
  )
  const chat = await chatOf(boss)
  await alice.patch(`/agents/${helper.id}`, withSubagent(boss))
  const sendResponse = await send(chat, script([hand(helper, task), hand(boss, 'myself')], [say('x')]))
  const [childResult, ownResult] = results(sendResponse.body.data)
  assert.deepEqual([childResult!.output.text, ownResult!.is_error], ['so it is', true])
  const [, answer] = (await alice.get(`/chats/${childResult!.output.chat_id}/messages`)).body.data
  const [byName, byDo, allowed, back] = results(answer)
  for (const { output } of [byName!, byDo!]) assert.match(output.error.message, /can’t use `chats.create`/)
  assert.equal(allowed!.is_error, false)
  assert.match(back!.output.error.message, /already working on a parent task/)
  const titles = (await alice.get('/chats?limit=100')).body.data.map(({ title }: { title: string }) => title)
  assert.ok(!titles.includes('forbidden'))

  // An agent from another workspace can do only what its parent agent can do too.
  const bob = await server.person('Bob')
  const foreign = await agentOf('Foreign', { tools: bold }, bob)
  const refused = await alice.patch(`/agents/${boss.id}`, withSubagent(foreign))
  assert.deepEqual([refused.status, refused.body.error.param], [404, 'subagents.0.agent_id'])
  const grantee = { email: alice.email }
  const share = { resource_type: 'agent', resource_id: foreign.id, grantee, access: 'view' }
  const { token } = (await bob.post('/shares', share)).body.data
  await alice.post('/invitations/accept', { token })
  const both = await agentOf('Open', { ...withSubagent(foreign), tools: tools({ 'chats.list': 'allow' }) })
  const pendingAnswer = await send(await chatOf(both), script([hand(foreign, task)], [say('x')]))
  const answered = (await alice.get(`/chats/${results(pendingAnswer.body.data)[0]!.output.chat_id}/messages`)).body
    .data[1]
  assert.deepEqual(
    results(answered).map(({ is_error }) => is_error),
    [true, true, false, true],
  )
  const self = await alice.patch(`/agents/${boss.id}`, withSubagent(boss))
  assert.deepEqual([self.status, self.body.error.param], [400, 'subagents.0.agent_id'])
})

test('a task can spend what remains of its run’s and chat’s budgets', async () => {
  const helper = await agentOf('Spender')
  const boss = await agentOf('Saver', withSubagent(helper))
  const chat = await chatOf(boss)
  // The model's first call reports 45,000 tokens, 0.09 USD. The task has 30,000 bytes, over 0.03 USD.
  const usage = { input_tokens: 10, output_tokens: 45_000 }
  const turns = [[hand(helper, 'word'.repeat(7_500))], [say('too dear')]]
  const answer = await send(chat, JSON.stringify({ turns, usage }), { max_cost_usd: 0.12 })
  const run = await runOf(chat)
  assert.deepEqual([answer.status, answer.body.error?.details.subject], [402, run.id])
  const [task] = await tasksOf(chat)
  const below = await runOf(task.id)
  const { code, param, details } = below.error
  assert.deepEqual([code, param, details.budget, details.subject], ['budget_reached', 'max_cost_usd', 'run', run.id])
  assert.ok(details.available_usd < 0.031 && details.needed_usd > 0.031, JSON.stringify(details))
  assert.deepEqual([below.cost_usd, run.cost_usd], [null, 0.09001])
})

test('a task waiting for approval pauses its parent run, and both resume after the decision', async () => {
  const helper = await agentOf('Asker', { tools: tools({ 'chats.create': 'ask' }) })
  const boss = await agentOf('Waiter', withSubagent(helper, 'ask'))
  const chat = await chatOf(boss)
  const task = script([call('chats_create', { title: 'asked for below' })], [say('made')])
  const pausedRun = (await send(chat, script([hand(helper, task)], [say('good')]))).body.data.run
  assert.deepEqual([pausedRun.status, pausedRun.pending_actions[0].tool], ['requires_action', 'delegate'])
  const path = `/chats/${chat}/runs/${pausedRun.id}`
  await alice.post(`${path}/actions`, { actions: [{ id: pausedRun.pending_actions[0].id, decision: 'allow' }] })
  const rests = await until(
    async () => (await alice.get(path)).body.data,
    ({ status }) => status === 'requires_action',
  )
  const [action] = rests.pending_actions
  assert.deepEqual([rests.status_reason, action.kind, action.expires_at], ['subagent', 'subagent', null])
  const below = `/chats/${action.arguments.chat_id}/runs/${action.arguments.run_id}`
  const [decision] = (await beyond.get(below)).body.data.pending_actions
  await beyond.post(`${below}/actions`, { actions: [{ id: decision.id, decision: 'allow' }] })
  const log = await allEvents(alice, `${path}/events`)
  assert.equal(log.at(-3)!.data.message.text, 'good')
  assert.equal((await tasksOf(chat)).length, 1)
  const titles = (await alice.get('/chats?limit=100')).body.data.map(({ title }: { title: string }) => title)
  assert.equal(titles.filter((title: string) => title === 'asked for below').length, 1)
})

test('stopping a run stops its tasks, including those waiting for approval', async () => {
  const slow = await agentOf('Slow')
  const middle = await agentOf('Middle', withSubagent(slow))
  const boss = await agentOf('Top', withSubagent(middle))
  const chat = await chatOf(boss)
  const endless = JSON.stringify({ steps: [say('x'), { delay_ms: 60_000 }] })
  const content = script([hand(middle, script([hand(slow, endless)], []))], [])
  void send(chat, content)
  const [first] = await until(
    () => tasksOf(chat),
    (tasks) => tasks.length === 1,
  )
  const [second] = await until(
    () => tasksOf(first.id),
    (tasks) => tasks.length === 1,
  )
  for await (const { event } of readEvents(alice, `/chats/${second.id}/runs/${(await runOf(second.id)).id}/events`))
    if (event === 'text.delta') break
  assert.equal((await beyond.post(`/chats/${chat}/stop`)).body.data.status, 'cancelled')
  for (const { id } of [first, second])
    await until(
      () => runOf(id),
      ({ status }) => status === 'cancelled',
    )
})

test('a user can retry a failed task, and it continues after the parent run has ended', async () => {
  const helper = await agentOf('Unlucky')
  const boss = await agentOf('Done', withSubagent(helper))
  const chat = await chatOf(boss)
  // Longer than the interval of the sweep for abandoned tasks.
  const task = script([say('x'), { delay_ms: 2_000 }, { error: { type: 'server_error', message: 'no paper' } }])
  const answer = await send(chat, script([hand(helper, task)], [say('It went wrong.')]))
  const { output } = results(answer.body.data)[0]!
  assert.deepEqual([output.status, answer.body.data.text], ['failed', 'It went wrong.'])
  const again = await alice.post(`/chats/${output.chat_id}/runs/${output.run_id}/retry`)
  const { status, attempt, error } = await runOf(output.chat_id)
  assert.deepEqual([status, attempt, error.message], ['failed', 2, output.error.message], again.text)
})

test('when a server is killed during a task, another resumes both runs and delegates once', async () => {
  await using doomed = await doomedServer()
  const there = doomed.alice
  await using here = await testServer({ database: doomed.database })
  const alice = caller(here.origin, there.headers)
  const helper = await agentOf('Helper', { tools: tools({ 'operations.await': 'allow' }) }, there)
  const boss = await agentOf('Boss', withSubagent(helper), there)
  const endless = JSON.stringify({ steps: [say('x'), { delay_ms: 60_000 }] })
  const long = (await made('/chats', { model: 'sim/script' }, alice)).id
  const operation = (await alice.post(`/chats/${long}/messages`, { content: endless, background: true })).body.data.id
  await until(
    async () => (await alice.get(`/operations/${operation}`)).body.data.status,
    (status) => status === 'running',
  )
  const wait = call('operations_await', { id: operation, since_status: 'running', timeout_seconds: 60 })
  const chat = await chatOf(boss, there)
  const content = script([hand(helper, script([wait], [say('waited')]))], [say('good')])
  void send(chat, content, {}, there).catch(() => {})
  const { pool } = here.app.engine.postgres
  await until(
    async () => (await pool.query(`select 1 from steps where kind = 'tool' and status = 'running'`)).rowCount,
    (count) => count === 2,
  )
  await doomed.kill()
  await alice.post(`/operations/${operation}/cancel`)

  const run = await runOf(chat, alice)
  const log = await allEvents(alice, `/chats/${chat}/runs/${run.id}/events`)
  assert.equal(log.at(-1)!.event, 'run.completed')
  assert.equal(log.at(-3)!.data.message.text, 'good')
  const [task, ...more] = await tasksOf(chat, alice)
  assert.deepEqual(more, [])
  const below = await runOf(task.id, alice)
  assert.deepEqual([below.status, results(log.at(-3)!.data.message)[0]!.output.text], ['completed', 'waited'])
  await here.app.engine.ledger.flush()
  const { rows } = await pool.query(
    'select count(*)::int, sum(cost_nano)::int8 as nano from calls where run_id = any($1)',
    [[run.id, below.id]],
  )
  const endedRun = await runOf(chat, alice)
  assert.deepEqual([rows[0].count, Number(rows[0].nano) / 1e9], [4, endedRun.cost_usd])
})
