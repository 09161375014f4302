/** An agent's tools are limited to what both the sender and those who set the tools can do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { call, results, say, script, tools } from '#test/chats/chats.ts'
import { isOver, runIs } from '#test/automations/hooks.ts'
import { validBody } from '#test/pipeline/least-call.ts'
import { type Caller, type Person, testServer } from '#test/server.ts'

// Untyped, because tests inspect answers freely.
async function made(path: string, body: object, who: Caller): Promise<any> {
  const answer = await who.post(path, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.body.data
}

async function teamOf() {
  const server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { id: team } = await made('/workspaces', { name: 'Team' }, alice)
  const { token } = await made(
    `/workspaces/${team}/invitations`,
    { email: bob.email, role: 'member', permissions: ['agent:read', 'agent:write'] },
    alice,
  )
  await bob.post('/invitations/accept', { token })
  return { server, alice, bob, team, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const bold = tools({ 'chats.create': 'allow', 'agents.create': 'allow', 'agents.list': 'allow', do: 'allow' })
const create = (workspace_id: string) => call('chats_create', { workspace_id, title: 'made by an agent' })

/** Returns the error code of each call by alice's agent, or `done`. */
async function outcome(
  alice: Person,
  agent: { id: string; workspace_id: string },
  ...steps: object[]
): Promise<string[]> {
  const { workspace_id } = agent
  const chat = await made('/chats', { agent_id: agent.id, workspace_id }, alice)
  const response = await alice.post(`/chats/${chat.id}/messages`, { content: script(steps, [say('over')]) })
  assert.equal(response.body.data?.run?.status, 'completed', response.text)
  return results(response.body.data).map(({ output, is_error }) =>
    is_error ? (output.error.code ?? output.error.type) : 'done',
  )
}

test('when bob sets an agent’s tools, alice’s runs can do only what bob can, including copies and subagents, until she sets them', async () => {
  await using place = await teamOf()
  const { alice, bob, team } = place
  const base = { name: 'Clerk', model: 'sim/script', workspace_id: team }
  const his = await made('/agents', { ...base, tools: bold }, bob)
  const list = call('agents_list', { workspace_id: team })
  assert.deepEqual(await outcome(alice, his, create(team), list), ['insufficient_role', 'done'])

  // Alice's agent, whose tools Bob sets again.
  const hers = await made('/agents', { ...base, tools: bold }, alice)
  assert.deepEqual(await outcome(alice, hers, create(team)), ['done'])
  assert.equal((await bob.patch(`/agents/${hers.id}`, { tools: bold })).status, 200)
  assert.deepEqual(await outcome(alice, hers, create(team)), ['insufficient_role'])

  // A copy belongs to its maker. A parent agent passes on only its maker's permissions, also to agents it creates.
  const copied = await made(`/agents/${hers.id}/copy-to-workspace`, { workspace_id: team }, bob)
  assert.deepEqual(await outcome(alice, copied, create(team)), ['insufficient_role'])
  const whole = await made('/agents', { ...base, tools: bold }, alice)
  const boss = await made('/agents', { ...base, subagents: [{ agent_id: whole.id, policy: 'allow' }] }, bob)
  const chat = await made('/chats', { agent_id: boss.id, workspace_id: team }, alice)
  const task = script([create(team)], [say('over')])
  const handed = script([call('delegate', { agent_id: whole.id, task })], [say('over')])
  await alice.post(`/chats/${chat.id}/messages`, { content: handed })
  const [below] = (await alice.get(`/chats?parent_chat_id=${chat.id}`)).body.data
  const last = (await alice.get(`/chats/${below.id}/messages`)).body.data.at(-1)
  assert.equal(results(last)[0]!.output.error.code, 'insufficient_role')
  const maker = call('agents_create', { ...base, name: 'Made', tools: bold })
  assert.deepEqual(await outcome(alice, his, maker), ['done'])
  const child = (await alice.get(`/agents?workspace_id=${team}`)).body.data.find((one: any) => one.name === 'Made')
  assert.deepEqual(await outcome(alice, child, create(team)), ['insufficient_role'])

  // Her automation can't do for him what he can't do.
  const action = { type: 'agent', agent_id: his.id, prompt: script([create(team)], [say('over')]) }
  const hook = { name: 'Nightly', kind: 'webhook', workspace_id: team, action }
  const automation = await made('/automations', hook, alice)
  const fired = await alice.post(`/automations/${automation.id}/test-fire`)
  const run = await runIs(alice, automation, fired.body.data.id, isOver)
  const lastMessage = (await alice.get(`/chats/${run.chat_id}/messages`)).body.data.at(-1)
  assert.equal(results(lastMessage)[0]!.output.error.code, 'insufficient_role')

  // Setting the same tools again counts. A former member contributes no permissions.
  assert.equal((await alice.patch(`/agents/${hers.id}`, { tools: bold })).status, 200)
  assert.deepEqual(await outcome(alice, hers, create(team)), ['done'])
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  assert.deepEqual(await outcome(alice, his, list), ['not_found'])
})

test('tools set with a limited key can do only what the key could', async () => {
  await using place = await teamOf()
  const { alice, team } = place
  const narrow = await alice.key({ scopes: ['agent:write'] })
  const agent = await made('/agents', { name: 'N', model: 'sim/script', workspace_id: team, tools: bold }, narrow)
  const list = call('agents_list', { workspace_id: team })
  assert.deepEqual(await outcome(alice, agent, create(team), list), ['missing_scope', 'done'])
})

/** Endpoints with which an account reads and changes its settings. Calls with consent never run by policy alone. */
const personal = list(await loadContracts()).filter(
  ({ name, endpoint: { path, access, consent, method } }) =>
    access.kind !== 'session' &&
    consent === undefined &&
    !['me.get', 'me.limits', 'invitations.accept'].includes(name) &&
    (access.kind === 'account' ||
      /^\/(me|settings|notifications|shared-with-me)\b/.test(path) ||
      `${method} ${path}` === 'GET /invitations'),
)

test('tools that bob chose can’t read or change alice’s personal data', async () => {
  await using place = await teamOf()
  const { alice, bob, team } = place
  await alice.patch(`/workspaces/${team}/members/${bob.id}`, { permissions: null })
  const { id } = await made('/notifications', { title: 'For alice' }, alice)
  const calls = personal.map(({ name, endpoint }) =>
    call(name.replace('.', '_'), { ...(endpoint.path.includes(':id') && { id }), ...validBody(endpoint) }),
  )
  assert.ok(calls.length >= 12, `${calls.length} endpoints`)
  const policies = tools(Object.fromEntries(personal.map(({ name }) => [name, 'allow'])))
  const base = { name: 'Clerk', model: 'sim/script', workspace_id: team, tools: policies }
  const his = await made('/agents', base, bob)
  for (const [i, result] of (await outcome(alice, his, ...calls)).entries())
    assert.notEqual(result, 'done', personal[i]!.name)
  const { status } = (await alice.get(`/notifications/${id}`)).body.data
  assert.equal(status, 'unread')
  const hers = await made('/agents', base, alice)
  const listed = call('notifications_list')
  assert.deepEqual(await outcome(alice, hers, listed, call('shared_with_me_list')), ['done', 'done'])
})
