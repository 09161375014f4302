/** Calls marked `consent: 'person'`, tried by agents: three ways in, watched and unwatched; none without a person. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { leastExample } from '#interfaces/example.ts'
import { forAgents } from '#interfaces/mcp/catalogue/catalogue.ts'
import { convert } from '#interfaces/schemas.ts'
import { resourceTypeOf } from '#core/access.ts'
import { pathNames } from '#core/contract.ts'
import { newId } from '#core/ids.ts'
import { type ListedEndpoint, inputSchema, list } from '#core/registry.ts'
import { isOver, runIs } from '../automations/hooks.ts'
import { call, results, say, script, tools } from '../chats/chats.ts'
import { makers, values } from '../makers.ts'
import { type Caller, type Person, type TestServer, testServer } from '../server.ts'
import { until } from '../until.ts'

const marked = list(await loadContracts()).filter((one) => one.endpoint.consent !== undefined && forAgents(one))

let server: TestServer
let alice: Person
let team: string
/** Of each marked endpoint, what a call of it could say. */
const inputs = new Map<string, Record<string, unknown>>()
const given = (name: string) => inputs.get(name)!
const names = marked.map(({ name }) => name)
const asTool = (name: string) => name.replace('.', '_')

before(async () => {
  server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.1', UK_LIMIT_WRITES: '0' } })
  alice = await server.person('Alice')
  team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  for (const listed of marked) inputs.set(listed.name, await inputFor(listed))
})
after(() => server[Symbol.asyncDispose]())

const further: Record<string, unknown> = {
  kind: 'webhook',
  name: 'x',
  grantee: { email: 'somebody@example.com' },
  shape: 'openai-chat',
  base_url: 'https://api.example.com/v1',
  api_key: 'sk-0123456789',
}

async function inputFor({ endpoint }: ListedEndpoint): Promise<Record<string, unknown>> {
  const { schemas, defs } = convert('input', { input: inputSchema(endpoint) })
  const least = leastExample(schemas.input!, defs)
  const known = Object.keys(least).flatMap((name) => {
    const value = values[name] ?? further[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const [first, ...rest] = pathNames(endpoint.path)
  const type = resourceTypeOf(endpoint.access)
  const id = first === undefined ? [] : [[first, type !== undefined ? await makers[type]!(alice) : newId()] as const]
  // Below the resource, an id is made up; a number such as a port stays as the schema's example has it.
  const below = rest.filter((name) => typeof least[name] !== 'number').map((name) => [name, newId()] as const)
  return { ...least, ...Object.fromEntries([...known, ...id, ...below]) }
}

async function made(path: string, body: object, who: Caller = alice) {
  const answer = await who.post(path, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

/** The three ways by which an agent calls each of them, allowed as far as an agent can be. */
const ways: Readonly<Record<string, { agent: () => Promise<object>; calls: () => object[] }>> = {
  'named in its tools': {
    agent: async () => ({ tools: tools(Object.fromEntries(names.map((name) => [name, 'allow']))) }),
    calls: () => names.map((name) => call(asTool(name), given(name))),
  },
  'by do, allowed by name besides': {
    agent: async () => ({ tools: tools({ do: 'allow', ...Object.fromEntries(names.map((name) => [name, 'allow'])) }) }),
    calls: () => names.map((name) => call('do', { name, input: given(name) })),
  },
  'by do alone': {
    agent: async () => ({ tools: tools({ do: 'allow' }) }),
    calls: () => names.map((name) => call('do', { name, input: given(name) })),
  },
  'by this server’s own /mcp': {
    async agent() {
      const { key } = await alice.key()
      const headers = { authorization: `Bearer ${key}` }
      return { mcp_servers: [{ name: 'self', url: `${server.origin}/mcp`, headers, policy: 'allow' }] }
    },
    calls: () => names.map((name) => call('mcp__self__do', { name, input: given(name) })),
  },
}
/** The decisions that a run never makes for itself, asked or not. */
const never = ['chats.actions', 'chats.resume_goal']

const agentBy = async (way: string, workspace_id = alice.workspaceId) =>
  made('/agents', { name: 'Bold', model: 'sim/script', workspace_id, ...(await ways[way]!.agent()) })
const codes = (message: unknown): (string | undefined)[] =>
  results(message).map(({ output, is_error }) => (is_error ? (output?.error?.code ?? 'denied') : undefined))

for (const way of Object.keys(ways)) {
  test(`in a chat, ${way}: each waits for a person or is rejected, and none is executed`, async () => {
    const agent = await agentBy(way)
    const chat = await made('/chats', { agent_id: agent.id })
    const calls = ways[way]!.calls()
    const answer = await alice.post(`/chats/${chat.id}/messages`, { content: script(calls, [say('over')]) })
    assert.equal(answer.status, 200, answer.text)
    const { run } = answer.body.data
    if (way.includes('mcp')) {
      assert.deepEqual(
        codes(answer.body.data),
        names.map(() => 'consent_required'),
      )
      return
    }
    assert.equal(run.status, 'requires_action')
    assert.deepEqual(
      run.pending_actions.map(({ tool, kind }: { tool: string; kind: string }) => [tool, kind]),
      names.filter((name) => !never.includes(name)).map((name) => [name, 'approval']),
    )
    const actions = run.pending_actions.map(({ id }: { id: string }) => ({ id, decision: 'deny' }))
    const denied = await alice.post(`/chats/${chat.id}/runs/${run.id}/actions`, { actions })
    assert.equal(denied.status, 200, denied.text)
  })

  test(`without a person present, ${way}: each is consent_required`, async () => {
    const agent = await agentBy(way)
    const prompt = script(ways[way]!.calls(), [say('over')])
    const action = { type: 'agent', agent_id: agent.id, prompt }
    const { id } = await made('/automations', { name: 'Nightly', kind: 'webhook', action })
    const fired = await alice.post(`/automations/${id}/test-fire`)
    const { status, chat_id } = await runIs(alice, { id }, fired.body.data.id, isOver)
    assert.equal(status, 'succeeded')
    const message = (await alice.get(`/chats/${chat_id}/messages`)).body.data.at(-1)
    assert.deepEqual(
      codes(message),
      names.map((name) => (never.includes(name) && !way.includes('mcp') ? 'denied' : 'consent_required')),
    )
  })
}

test('agents working on a delegated task or a goal need consent too', async () => {
  const helper = await made('/agents', {
    name: 'Helper',
    model: 'sim/script',
    tools: tools({ 'shares.create': 'allow' }),
  })
  const boss = await made('/agents', {
    name: 'Boss',
    model: 'sim/script',
    subagents: [{ agent_id: helper.id, policy: 'allow' }],
  })
  const chat = await made('/chats', { agent_id: boss.id })
  const input = { ...given('shares.create'), resource_id: boss.id }
  const task = script([call('shares_create', input)], [say('over')])
  const content = script([call('delegate', { agent_id: helper.id, task })], [say('over')])
  const said = await alice.post(`/chats/${chat.id}/messages`, { content })
  assert.equal(said.body.data.run.status, 'completed', said.text)
  const [{ id: below }] = (await alice.get(`/chats?parent_chat_id=${chat.id}`)).body.data
  assert.deepEqual(codes((await alice.get(`/chats/${below}/messages`)).body.data.at(-1)), ['consent_required'])

  const other = await made('/chats', { agent_id: helper.id })
  const achieved = JSON.stringify({ steps: [say(JSON.stringify({ achieved: true, feedback: '' }))] })
  const objective = script([call('shares_create', input)], [say(achieved)])
  await made(`/chats/${other.id}/goal`, { objective, max_cost_usd: 1 })
  await until(
    async () => (await alice.get(`/chats/${other.id}/goal`)).body.data.status,
    (status) => status !== 'active',
  )
  assert.deepEqual(codes((await alice.get(`/chats/${other.id}/messages`)).body.data.at(-1)), ['consent_required'])
  assert.deepEqual((await alice.get(`/shares?resource_type=agent&resource_id=${boss.id}`)).body.data, [])
})

test('an approved call runs once, and viewers, former members and restricted keys can’t approve it', async () => {
  const [bob, carol, dave] = [await server.person('Bob'), await server.person('Carol'), await server.person('Dave')]
  for (const [person, role] of [
    [bob, 'admin'],
    [carol, 'viewer'],
    [dave, 'admin'],
  ] as const) {
    const { token } = await made(`/workspaces/${team}/invitations`, { email: person.email, role })
    await person.post('/invitations/accept', { token })
  }
  const agent = await made('/agents', {
    name: 'Clerk',
    model: 'sim/script',
    workspace_id: team,
    tools: tools({ 'webhooks.create': 'allow' }),
  })
  const chat = await made('/chats', { agent_id: agent.id, workspace_id: team })
  const hook = { workspace_id: team, name: 'Ours', url: 'https://hooks.example.com/x', events: ['*'] }
  const content = script([call('webhooks_create', hook)], [say('over')])
  const send = async () => (await alice.post(`/chats/${chat.id}/messages`, { content })).body.data.run
  const run = await send()
  assert.equal(run.status, 'requires_action')
  const path = `/chats/${chat.id}/runs/${run.id}/actions`
  const allow = { actions: [{ id: run.pending_actions[0].id, decision: 'allow' }] }
  const hooks = async () => (await alice.get(`/webhook-endpoints?workspace_id=${team}`)).body.data.length
  await alice.delete(`/workspaces/${team}/members/${dave.id}`)
  const narrow = await alice.key({ scopes: ['chat:run', 'chat:read'] })
  const elsewhere = await alice.key({ workspace_id: alice.workspaceId })
  const refused: [Caller, number, string | undefined][] = [
    [bob, 403, 'consent_required'],
    [carol, 403, 'insufficient_role'],
    [dave, 404, undefined],
    [narrow, 403, 'missing_scope'],
    [elsewhere, 404, undefined],
  ]
  for (const [who, status, code] of refused) {
    const answer = await who.post(path, allow)
    assert.deepEqual([answer.status, answer.body.error.code], [status, code], answer.text)
  }
  const altered = { actions: [{ ...allow.actions[0], arguments: { ...hook, name: 'Theirs' } }] }
  assert.equal((await alice.post(path, altered)).status, 400)
  assert.equal((await alice.post(path, { actions: [{ id: 'another', decision: 'allow' }] })).status, 404)
  assert.equal(await hooks(), 0)
  assert.equal((await alice.post(path, allow)).status, 200)
  const ended = await until(
    async () => (await alice.get(`/chats/${chat.id}/runs/${run.id}`)).body.data.status,
    (status) => status === 'completed' || status === 'failed',
  )
  assert.deepEqual([ended, await hooks()], ['completed', 1])
  const replayed = await alice.post(path, allow)
  assert.deepEqual([replayed.status, replayed.body.error.code], [409, 'invalid_state'])
  // The next call asks anew, and its id is not the first one’s word.
  const next = await send()
  assert.equal(next.status, 'requires_action')
  assert.equal((await alice.post(path, allow)).status, 409)
  assert.equal(await hooks(), 1)
})

test('an agent can’t approve its own calls, by tools or by a key at /mcp', async () => {
  const { key } = await alice.key()
  const self = {
    name: 'self',
    url: `${server.origin}/mcp`,
    headers: { authorization: `Bearer ${key}` },
    policy: 'allow',
  }
  const waiting = await made('/agents', { name: 'W', model: 'sim/script', tools: tools({ 'shares.create': 'allow' }) })
  const chat = await made('/chats', { agent_id: waiting.id })
  const input = { ...given('shares.create'), resource_id: waiting.id }
  const content = script([call('shares_create', input)], [say('x')])
  const { run } = (await alice.post(`/chats/${chat.id}/messages`, { content })).body.data
  const helper = await made('/agents', {
    name: 'H',
    model: 'sim/script',
    tools: tools({ do: 'allow', 'chats.actions': 'allow' }),
    mcp_servers: [self],
  })
  const other = await made('/chats', { agent_id: helper.id })
  const act = { id: chat.id, run_id: run.id, actions: [{ id: run.pending_actions[0].id, decision: 'allow' }] }
  const calls = [
    call('chats_actions', act),
    call('do', { name: 'chats.actions', input: act }),
    call('mcp__self__do', { name: 'chats.actions', input: act }),
  ]
  const said = await alice.post(`/chats/${other.id}/messages`, { content: script(calls, [say('x')]) })
  assert.deepEqual(codes(said.body.data), ['denied', 'denied', 'consent_required'], said.text)
  assert.equal((await alice.get(`/chats/${chat.id}/runs/${run.id}`)).body.data.status, 'requires_action')
})
