import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, results, script } from '#test/chats/chats.ts'
import { allEvents } from '#test/events.ts'
import { type Answer, type Caller, caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { startOpenRouter } from '#test/vendors/openrouter/openrouter.ts'
import { until } from '#test/until.ts'

// 1 / 2 USD per million tokens, which are words: 100 words in and 100 out cost 0.0003 USD. A call without a limit of its
// own holds at least 1,024 tokens of output, 0.002048 USD, and a token per byte of what it sends.
const words = (n: number): string => Array.from({ length: n }, () => 'word').join(' ')

const { server, twin, alice, beyond, settled } = await twoServers({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8' } })

async function made(path: string, body: object, who: Caller = alice) {
  const answer = await who.post(path, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}
const say = (chat: string, content: string, more: object = {}, who: Caller = alice) =>
  who.post(`/chats/${chat}/messages`, { content, ...more })
const get = async (path: string) => {
  await settled()
  return (await alice.get(path)).body.data
}
/** The cost of the calls of these runs, as the ledger has it. */
async function paid(column: 'run_id' | 'chat_id', ids: readonly string[]): Promise<number> {
  await settled()
  const { rows } = await server.app.engine.postgres.pool.query(
    `select coalesce(sum(cost_nano), 0)::int8 as nano from calls where ${column} = any($1::ulid[])`,
    [ids],
  )
  return Number(rows[0].nano) / 1e9
}
function refusedBy({ status, body }: Answer, budget: string, subject: string): { available_usd: number } {
  assert.deepEqual([status, body.error?.code], [402, 'budget_reached'], JSON.stringify(body))
  const { param, message, details } = body.error
  assert.equal(param, budget === 'agent' || budget === 'workspace' ? 'spend_cap_usd' : 'max_cost_usd')
  assert.deepEqual([details.budget, details.subject], [budget, subject])
  assert.ok(details.needed_usd > details.available_usd)
  assert.match(message, new RegExp(`budget of the ${budget} .* USD are left`))
  return details
}

test('a chat’s budget counts earlier spend, no call exceeds it, and raising it allows a retry', async () => {
  const chat = await made('/chats', { model: 'sim/echo' })
  assert.deepEqual([chat.max_cost_usd, chat.spent_usd], [null, 0])
  assert.equal((await say(chat.id, words(100))).status, 200)
  assert.equal((await get(`/chats/${chat.id}`)).spent_usd, 0.0003)
  const set = await alice.patch(`/chats/${chat.id}`, { max_cost_usd: 0.0045 })
  assert.deepEqual([set.body.data.max_cost_usd, set.body.data.spent_usd], [0.0045, 0.0003])
  let last = await say(chat.id, words(100), {}, beyond)
  for (const who of [alice, beyond, alice, beyond, alice]) {
    await settled()
    if (last.status !== 200) break
    last = await say(chat.id, words(100), {}, who)
  }
  const { available_usd: availableUsd } = refusedBy(last, 'chat', chat.id)
  const now = await get(`/chats/${chat.id}`)
  assert.ok(now.spent_usd > 0.0003 && now.spent_usd <= 0.0045, String(now.spent_usd))
  assert.equal(availableUsd, Number((0.0045 - now.spent_usd).toFixed(9)))
  assert.equal(await paid('chat_id', [chat.id]), now.spent_usd)
  // A summary is a call of the chat like any other.
  refusedBy(await alice.post(`/chats/${chat.id}/compact`), 'chat', chat.id)

  const { run_id: failed } = last.body.error.details
  await beyond.patch(`/chats/${chat.id}`, { max_cost_usd: 1 })
  assert.equal((await alice.post(`/chats/${chat.id}/runs/${failed}/retry`)).status, 200)
  const wrong = await alice.patch(`/chats/${chat.id}`, { max_cost_usd: -1 })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'max_cost_usd'])
})

test('runs and goals have separate budgets and also stop at the chat’s', async () => {
  const chat = await made('/chats', { model: 'sim/echo', max_cost_usd: 0.01 })
  const refused = await say(chat.id, words(10), { max_cost_usd: 0.002 })
  const [run] = (await alice.get(`/chats/${chat.id}/runs`)).body.data
  refusedBy(refused, 'run', run.id)
  assert.equal(run.max_cost_usd, 0.002)
  assert.equal((await say(chat.id, words(10), { max_cost_usd: 0.004 })).status, 200)

  await alice.post(`/chats/${chat.id}/goal`, { objective: words(20_000), max_cost_usd: 1 })
  let goal = await get(`/chats/${chat.id}/goal`)
  goal = await until(
    () => get(`/chats/${chat.id}/goal`),
    ({ status }) => status !== 'active',
  )
  assert.deepEqual([goal.status, goal.error.code, goal.error.details.budget], ['failed', 'budget_reached', 'chat'])
})

test('an agent’s period budget holds across twenty chats and two processes, and outsiders can’t raise it', async () => {
  const agent = await made('/agents', { name: 'Dear', model: 'sim/echo' })
  const first = await made('/chats', { agent_id: agent.id })
  assert.equal((await say(first.id, words(100))).status, 200)
  assert.equal((await get(`/agents/${agent.id}`)).spent_usd, 0.0003)
  const set = await alice.patch(`/agents/${agent.id}`, { spend_cap_usd: 0.006, spend_cap_period: 'day' })
  assert.deepEqual(
    [set.body.data.spend_cap_usd, set.body.data.spend_cap_period, set.body.data.spent_usd, set.body.data.version],
    [0.006, 'day', 0.0003, 1],
  )
  const chats = await Promise.all(Array.from({ length: 20 }, () => made('/chats', { agent_id: agent.id })))
  const answers = await Promise.all(chats.map(({ id }, i) => say(id, words(100), {}, i % 2 === 0 ? alice : beyond)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 402]))
  for (const answer of answers) if (answer.status === 402) refusedBy(answer, 'agent', agent.id)
  const { spent_usd } = await get(`/agents/${agent.id}`)
  assert.ok(spent_usd <= 0.006, String(spent_usd))
  assert.equal(
    await paid(
      'chat_id',
      [first, ...chats].map(({ id }) => id),
    ),
    spent_usd,
  )
  const bob = await server.person('Bob')
  const shared = { resource_type: 'agent', resource_id: agent.id, grantee: { email: bob.email }, access: 'edit' }
  const { token } = (await alice.post('/shares', shared)).body.data
  assert.equal((await bob.post('/invitations/accept', { token })).status, 200)
  const lifted = await bob.patch(`/agents/${agent.id}`, { spend_cap_usd: null })
  assert.deepEqual([lifted.status, lifted.body.error.param], [403, 'spend_cap_usd'])
})

test('the workspace budget applies to chats in both processes', async () => {
  const team = await made('/workspaces', { name: 'Team', spend_cap_usd: 0.005 })
  const chats = await Promise.all(
    Array.from({ length: 10 }, () => made('/chats', { workspace_id: team.id, model: 'sim/echo' })),
  )
  const answers = await Promise.all(chats.map(({ id }, i) => say(id, words(100), {}, i % 2 === 0 ? alice : beyond)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 402]))
  for (const answer of answers) if (answer.status === 402) refusedBy(answer, 'workspace', team.id)
  assert.ok((await get(`/workspaces/${team.id}`)).spent_usd <= 0.005)
})

test('spend by an agent’s tools counts toward its run and chat', async () => {
  const tools = ['inference.text', 'chats.send'].map((name) => ({ name, policy: 'allow' }))
  const agent = await made('/agents', { name: 'Spender', model: 'sim/script', tools })
  const chat = await made('/chats', { agent_id: agent.id, max_cost_usd: 0.05 })
  const other = await made('/chats', { model: 'sim/echo' })
  const messages = [{ role: 'user', content: words(10) }]
  const ask = (max_output_tokens: number) => call('inference_text', { model: 'sim/echo', messages, max_output_tokens })
  const response = await say(
    chat.id,
    script(
      [
        ask(100_000),
        ask(1_000),
        call('chats_send', { id: other.id, content: words(100) }),
        call('inference_text', { model: 'sim/echo', messages, background: true }),
      ],
      [{ text: 'done' }],
    ),
  )
  assert.equal(response.status, 200, response.text)
  const results = response.body.data.content.filter(({ type }: { type: string }) => type === 'tool_result')
  assert.deepEqual(
    results.map(({ is_error }: { is_error: boolean }) => is_error),
    [true, false, false, true],
  )
  assert.deepEqual([results[0].output.error.code, results[0].output.error.details.subject], ['budget_reached', chat.id])
  assert.equal(results[3].output.error.param, 'background', 'what outlives the run would count for none of its budgets')
  const [latestRun] = (await alice.get(`/chats/${other.id}/runs`)).body.data
  const run = await get(`/chats/${chat.id}/runs/${response.body.data.run.id}`)
  const runCost = await paid('run_id', [run.id])
  assert.deepEqual(
    [latestRun.parent_run_id, latestRun.cost_usd, run.children_cost_usd, run.cost_usd],
    [run.id, 0.0003, 0.0003, Number((runCost + 0.0003).toFixed(9))],
  )
  // The 20 words of the one call of `inference.text` that was made.
  const amountUsd = 0.00003
  assert.equal((await get(`/chats/${chat.id}`)).spent_usd, Number((runCost + 0.0003 + amountUsd).toFixed(9)))
})

test('only the sender sees the remaining balance when a run or tool is rejected', async () => {
  const bob = await server.person('Bob, who pays')
  const team = await made('/workspaces', { name: 'Readers' }, bob)
  const invitation = { email: alice.email, role: 'admin' }
  const { token } = (await bob.post(`/workspaces/${team.id}/invitations`, invitation)).body.data
  assert.equal((await alice.post('/invitations/accept', { token })).status, 200)
  const agent = await made(
    '/agents',
    {
      name: 'Asker',
      workspace_id: team.id,
      model: 'sim/script',
      tools: ['inference.text', 'chats.send'].map((name) => ({ name, policy: 'allow' })),
    },
    bob,
  )
  const chat = await made('/chats', { workspace_id: team.id, agent_id: agent.id }, bob)
  const wordy = await made(
    '/agents',
    {
      name: 'Wordy',
      workspace_id: team.id,
      model: 'sim/echo',
      system_prompt: words(9_000),
    },
    bob,
  )
  const further = await made('/chats', { workspace_id: team.id, agent_id: wordy.id }, bob)
  const grant = (amount_usd: number) => alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd })
  const capped = (spend_cap_usd: number) => bob.key({ spend_cap_usd, spend_cap_period: 'week' })
  // A reply of the model that is affordable, and within it one that is not.
  const messages = [{ role: 'user', content: 'x' }]
  const dear = script([call('inference_text', { model: 'sim/echo', messages, max_output_tokens: 100_000 })], [])

  const unpaid = await say(chat.id, dear, {}, bob)
  await grant(0.0351)
  const toolUnpaid = await say(chat.id, dear, {}, bob)
  await grant(9)
  const overBudget = await say(chat.id, dear, {}, await capped(0.000351))
  const toolOver = await say(chat.id, dear, {}, await capped(0.0351))
  const scriptContent = script([call('chats_send', { id: further.id, content: 'x' })], [])
  const sentOver = await say(chat.id, scriptContent, {}, await capped(0.0351))
  const namesIn = ({ code, details }: { code: string; details: object }) => [
    code,
    ...Object.keys(details)
      .filter((name) => name !== 'run_id')
      .toSorted(),
  ]
  assert.deepEqual(
    [toolUnpaid, toolOver, sentOver].map(({ body }) => namesIn(results(body.data)[0]!.output.error)),
    ['insufficient_credits', 'spend_cap_reached', 'spend_cap_reached'].map((code) => [code, 'needed_usd']),
  )
  assert.deepEqual(
    [unpaid, overBudget].map(({ body }) => namesIn(body.error)),
    [
      ['insufficient_credits', 'affordable_output_tokens', 'available_usd', 'needed_usd'],
      ['spend_cap_reached', 'affordable_output_tokens', 'available_usd', 'cap_usd', 'needed_usd', 'period'],
    ],
  )
  assert.match(overBudget.body.error.message, /USD are left/)
  // The sender reads it again, in every process.
  const { run_id: capless, ...details } = overBudget.body.error.details
  const there = caller(twin.origin, bob.headers)
  assert.deepEqual((await there.get(`/chats/${chat.id}/runs/${capless}`)).body.data.error.details, details)
  const other = await bob.key({ scopes: ['chat:read'], workspace_id: team.id })
  assert.deepEqual(
    Object.keys((await other.get(`/chats/${chat.id}/runs/${capless}`)).body.data.error.details),
    ['needed_usd'],
    'another key of his',
  )
  const listed = (await bob.get(`/chats/${chat.id}/runs?status=failed`)).body.data
  assert.ok(listed.every(({ error }: { error: { message: string } }) => error.message.includes('are left')))

  const runs: { id: string }[] = (await alice.get(`/chats/${chat.id}/runs`)).body.data
  const read = [
    runs,
    (await alice.get(`/chats/${chat.id}/messages?branch=all`)).body.data,
    (await alice.get(`/chats/${chat.id}/runs/${capless}`)).body.data,
    await allEvents(bob, `/chats/${chat.id}/runs/${capless}/events`),
    (await alice.get(`/chats/${further.id}/runs`)).body.data,
    ...(await Promise.all(runs.map(({ id }) => allEvents(alice, `/chats/${chat.id}/runs/${id}/events`)))),
  ]
  assert.equal(runs.length, 5)
  assert.doesNotMatch(JSON.stringify(read), /available_usd|cap_usd"|affordable|are left|or less|week/)
  // Another attempt has an error of its own.
  assert.equal((await bob.post(`/chats/${chat.id}/runs/${capless}/retry`)).status, 200)
  assert.equal((await bob.get(`/chats/${chat.id}/runs/${capless}`)).body.data.error, null)
})

test('chat readers see the chat’s remaining budget but not the workspace’s or agent’s', async () => {
  const team = await made('/workspaces', { name: 'Closed', spend_cap_usd: 0.001, spend_cap_period: 'week' })
  const agent = await made('/agents', {
    name: 'Spent',
    model: 'sim/echo',
    spend_cap_usd: 0.001,
    spend_cap_period: 'week',
  })
  const guest = await server.person('A guest')
  const refusedIn = async (more: object) => {
    const chat = await made('/chats', { model: 'sim/echo', ...more })
    const share = { resource_type: 'chat', resource_id: chat.id, grantee: { email: guest.email } }
    const { token } = (await alice.post('/shares', share)).body.data
    assert.equal((await guest.post('/invitations/accept', { token })).status, 200)
    const answer = await say(chat.id, words(10))
    const [run] = (await guest.get(`/chats/${chat.id}/runs`)).body.data
    return { chat, answer, error: run.error, log: await allEvents(guest, `/chats/${chat.id}/runs/${run.id}/events`) }
  }
  for (const [of, subject, more] of [
    ['workspace', team.id, { workspace_id: team.id }],
    ['agent', agent.id, { agent_id: agent.id, model: null }],
  ] as const) {
    const { answer, error, log } = await refusedIn(more)
    refusedBy(answer, of, subject)
    assert.ok(answer.body.error.details.affordable_output_tokens >= 0)
    assert.deepEqual(
      [error.code, error.param, Object.keys(error.details)],
      ['budget_reached', 'spend_cap_usd', ['needed_usd']],
    )
    assert.doesNotMatch(JSON.stringify([error, log]), /available_usd|cap_usd":|affordable|are left|week/)
  }
  assert.equal((await guest.get(`/workspaces/${team.id}`)).status, 404)
  const { chat, answer, error } = await refusedIn({ max_cost_usd: 0.001 })
  refusedBy(answer, 'chat', chat.id)
  assert.equal(error.details.available_usd, 0.001)
  // The tokens that could be afforded hang on the sender's balance, too.
  assert.deepEqual(
    [answer.body.error.details.affordable_output_tokens >= 0, 'affordable_output_tokens' in error.details],
    [true, false],
  )
})

test('delegation between agents is limited in depth', async () => {
  const tools = [{ name: 'chats.send', policy: 'allow' }]
  const agent = await made('/agents', { name: 'Caller', model: 'sim/script', tools })
  const chats = await Promise.all(Array.from({ length: 7 }, () => made('/chats', { agent_id: agent.id })))
  let content = 'the end'
  for (const { id } of chats.slice(1).toReversed()) content = script([call('chats_send', { id, content })], [])
  assert.equal((await say(chats[0]!.id, content)).status, 200)
  const counts = await Promise.all(chats.map(async ({ id }) => (await alice.get(`/chats/${id}/runs`)).body.data.length))
  assert.deepEqual(counts, [1, 1, 1, 1, 1, 1, 0])
  const [refused] = (await alice.get(`/chats/${chats[5]!.id}/messages?order=desc`)).body.data
  assert.equal(refused.content.at(-1).output.error.code, 'limit_reached')
})

test('an uncapped run on an own key costs what the provider reports', async () => {
  const house = [{ id: 'house/unpriced', price: { prompt: '0.001', completion: '0.002' } }, { id: 'house/priced' }]
  await using vendor = await startOpenRouter({ models: house })
  await made('/ai-gateway/provider-endpoints', {
    name: 'Or',
    slug: 'or',
    preset: 'openrouter',
    base_url: `${vendor.origin}/api/v1`,
    api_key: vendor.key,
    models: [{ id: 'house/unpriced' }, { id: 'house/priced', max_output_tokens: 10, pricing: { input: 1, output: 2 } }],
  })
  const spent = async (model: string): Promise<number> => {
    const chat = await made('/chats', { model: `or/${model}` })
    const answer = await say(chat.id, 'hello')
    assert.equal(answer.status, 200, answer.text)
    const { cost_usd, run } = answer.body.data
    const all = [cost_usd, run.cost_usd, (await get(`/chats/${chat.id}`)).spent_usd, await paid('chat_id', [chat.id])]
    assert.deepEqual(all, Array(4).fill(cost_usd))
    return cost_usd
  }
  vendor.script({ reply: 'hi', usage: { input: 100, output: 50 } })
  assert.equal(await spent('house/unpriced'), 0.2)
  // Far more than could be held for it.
  vendor.script({ reply: 'hi', usage: { input: 100, output: 1_000_000 } })
  assert.equal(await spent('house/priced'), 2.0001)
  const { rows } = await server.app.engine.postgres.pool.query(
    `select sum(overrun_nano)::int8 as nano from calls where provider = 'or'`,
  )
  assert.equal(rows[0].nano, 0n)
})
