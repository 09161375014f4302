import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { type Caller, type Person, testServer } from '#test/server.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'

const messages = [{ role: 'user', content: 'hello' }]
const ask = (by: Caller, model = 'sim/echo') =>
  by.post('/compat-a/v1/chat/completions', { model, max_tokens: 10, messages })
const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]

async function join(alice: Person, bob: Person, role = 'member') {
  const { id } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const { token } = (await alice.post(`/workspaces/${id}/invitations`, { email: bob.email, role })).body.data
  const { member } = (await bob.post('/invitations/accept', { token })).body.data
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
  return { id: id as string, at: `/workspaces/${id}`, member: `/workspaces/${id}/members/${member.id}` }
}

test('model lists of the key, the member and the workspace all apply, and errors name the one that rejected', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = await join(alice, bob)
  const key = await bob.key({ workspace_id: team.id, allowed_models: ['sim/*'] })
  const preview = async (model = 'sim/echo') =>
    (await key.post('/ai-gateway/routing-preview', { model })).body.data as {
      candidates: { provider: string }[]
      excluded: { provider: string; reason: string }[]
    }
  assert.equal((await ask(key)).status, 200)
  assert.deepEqual((await preview()).excluded, [])

  const narrowed = await alice.patch(team.member, { allowed_models: ['sim/script', 'openai/*'] })
  assert.deepEqual(narrowed.body.data.allowed_models, ['sim/script', 'openai/*'])
  const refused = await ask(key)
  assert.equal(refused.status, 403)
  assert.match(refused.body.error.message, /`allowed_models` of the member doesn’t include `sim\/echo`/)
  const b = await key.post('/compat-b/v1/messages', { model: 'sim/echo', max_tokens: 10, messages })
  assert.equal(b.status, 403)
  assert.match(b.body.error.message, /of the member/)
  const c = await key.post('/compat-c/v1/chat/completions', { model: 'sim/echo', messages })
  assert.equal(c.status, 403)
  const rest = await key.post('/inference/text', { model: 'sim/echo', messages })
  assert.deepEqual(
    [...code(rest), rest.body.error.details],
    [403, 'policy_denied', { rule: 'allowed_models', of: 'member' }],
  )
  const chat = (await bob.post('/chats', { workspace_id: team.id, model: 'sim/echo' })).body.data
  assert.deepEqual(code(await bob.post(`/chats/${chat.id}/messages`, { content: 'hello' })), [403, 'policy_denied'])
  const { candidates, excluded } = await preview()
  assert.deepEqual(
    [candidates, excluded],
    [[], [{ provider: 'sim', reason: '`allowed_models` of the member doesn’t include `sim/echo`.' }]],
  )
  const listed = (await key.get('/compat-a/v1/models')).body.data.map(({ id }: { id: string }) => id)
  assert.deepEqual(listed, ['sim/script'])

  await alice.patch(team.member, { allowed_models: null })
  await alice.patch(team.at, { allowed_models: [] })
  assert.match((await ask(key)).body.error.message, /`allowed_models` of the workspace/)
  assert.match((await preview()).excluded[0]!.reason, /of the workspace/)
  await alice.patch(team.at, { allowed_models: null })
  await bob.patch(`/api-keys/${key.keyId}`, { allowed_models: ['openai/gpt-4o'] })
  assert.match((await ask(key)).body.error.message, /`allowed_models` of the key/)
  assert.match((await preview()).excluded[0]!.reason, /of the key/)
  assert.equal((await ask(await bob.key({ workspace_id: team.id }))).status, 200)
  const wrong = await bob.patch(`/api-keys/${key.keyId}`, { allowed_models: ['gpt-4o'] })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'allowed_models.0'])
})

test('a workspace limited to its own keys rejects chats and other keys, for its models and its providers', async () => {
  await using openai = await startOpenAI()
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8' } })
  await using twin = await server.twin()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = await join(alice, bob)
  const house = await alice.post('/ai-gateway/provider-endpoints', {
    name: 'House',
    slug: 'house',
    shape: 'openai-chat',
    base_url: `${openai.origin}/v1`,
    api_key: openai.key,
    models: [{ id: 'gpt-4o', pricing: { input: 1, output: 2 } }],
    workspace_id: team.id,
  })
  assert.equal(house.status, 201)
  const held = await bob.key({ workspace_id: team.id })
  const unbound = await bob.key()
  assert.equal((await ask(unbound, 'house/gpt-4o')).status, 200)

  assert.equal((await alice.patch(team.at, { keys: 'workspace' })).body.data.keys, 'workspace')
  assert.equal((await ask(held)).status, 200)
  assert.equal((await ask(held, 'house/gpt-4o')).status, 200)
  assert.equal((await ask(unbound)).status, 200, 'in his own workspace he does as he likes')
  const around = await ask(unbound, 'house/gpt-4o')
  assert.equal(around.status, 403)
  assert.match(around.body.error.message, /a key restricted to that workspace, or a chat in it/)
  const named = await unbound.post('/inference/text', { model: 'sim/echo', workspace_id: team.id, messages })
  assert.deepEqual(code(named), [403, 'policy_denied'])
  assert.match(named.body.error.message, /only with keys restricted to it \(`keys` of the workspace\)/)
  const chat = (await bob.post('/chats', { workspace_id: team.id, model: 'sim/echo' })).body.data
  const said = await bob.post(`/chats/${chat.id}/messages`, { content: 'hello' })
  assert.deepEqual(code(said), [403, 'policy_denied'])
  const byKey = await held.post(`/chats/${chat.id}/messages`, { content: 'hello' })
  assert.equal(byKey.status, 200, 'a run that a key of the team began is by that key')
  const { excluded } = (await bob.post('/ai-gateway/routing-preview', { model: 'sim/echo', workspace_id: team.id }))
    .body.data
  assert.match(excluded[0].reason, /`keys` of the workspace/)
  const there = { ...unbound, origin: twin.origin }
  const answer = await fetch(`${there.origin}/compat-a/v1/chat/completions`, {
    method: 'POST',
    headers: { ...unbound.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'house/gpt-4o', messages }),
  })
  assert.equal(answer.status, 403, 'in every process')

  // A budget covers the workspace's providers: calls with a key outside it would count toward no budget.
  await alice.patch(team.at, { keys: 'any', spend_cap_usd: 5 })
  assert.match((await ask(unbound, 'house/gpt-4o')).body.error.message, /with rules or a budget/)
  assert.equal((await ask(held, 'house/gpt-4o')).status, 200)
  await alice.patch(team.at, { spend_cap_usd: null })
  assert.equal((await ask(unbound, 'house/gpt-4o')).status, 200)
  await alice.patch(team.member, { keys: 'workspace' })
  assert.match((await bob.post(`/chats/${chat.id}/messages`, { content: 'again' })).body.error.message, /of the member/)
  const hers = (await alice.post('/chats', { workspace_id: team.id, model: 'sim/echo' })).body.data
  assert.equal((await alice.post(`/chats/${hers.id}/messages`, { content: 'hello' })).status, 200)
})

test('rules are visible only to admins: not to viewers, former members, other workspaces’ keys or agents', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = await join(alice, bob, 'viewer')
  const rules = { keys: 'any', allowed_models: null }
  assert.deepEqual(code(await bob.patch(team.at, rules)), [403, 'insufficient_role'])
  assert.deepEqual(code(await bob.patch(team.member, rules)), [403, 'insufficient_role'])
  const elsewhere = await alice.key({ workspace_id: alice.workspaceId })
  assert.equal((await elsewhere.patch(team.at, rules)).status, 404)
  assert.equal((await elsewhere.patch(team.member, rules)).status, 404)
  // An agent always asks the person first, whatever its policies say.
  const agent = await alice.post('/agents', {
    workspace_id: team.id,
    name: 'Clerk',
    model: 'sim/script',
    tools: tools({ 'members.update': 'allow' }),
  })
  const chat = await alice.post('/chats', { workspace_id: team.id, agent_id: agent.body.data.id })
  const change = call('members_update', { id: team.id, memberId: bob.id, keys: 'workspace', spend_cap_usd: 9 })
  const said = await alice.post(`/chats/${chat.body.data.id}/messages`, { content: script([change], [say('over')]) })
  assert.equal(said.body.data.run.status, 'requires_action', said.text)
  const rows = (await alice.get(`${team.at}/members`)).body.data
  assert.deepEqual(
    rows.map((row: { keys: string }) => row.keys),
    ['any', 'any'],
  )
  await alice.delete(team.member)
  assert.equal((await bob.patch(team.at, rules)).status, 404)
  assert.equal((await bob.patch(team.member, rules)).status, 404)
})

test('a guest of a shared chat is subject to its workspace’s budget and rules but doesn’t see the amounts', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { id } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
  const chat = (await alice.post('/chats', { workspace_id: id, model: 'sim/echo' })).body.data
  const grantee = { email: bob.email }
  const share = { resource_type: 'chat', resource_id: chat.id, grantee, access: 'edit' }
  const { token } = (await alice.post('/shares', share)).body.data
  assert.equal((await bob.post('/invitations/accept', { token })).status, 200)
  const say = () => bob.post(`/chats/${chat.id}/messages`, { content: 'hello' })
  const set = (rules: object) => alice.patch(`/workspaces/${id}`, rules)
  assert.equal((await say()).status, 200)

  await set({ allowed_models: ['openai/*'] })
  assert.match((await say()).body.error.message, /`allowed_models` of the workspace/)
  assert.equal((await bob.post(`/chats/${chat.id}/compact`, {})).status, 403)
  await set({ allowed_models: null, keys: 'workspace' })
  assert.match((await say()).body.error.message, /`keys` of the workspace/)
  await set({ keys: 'any', spend_cap_usd: 0.000001 })
  for (const refused of [await say(), await bob.post(`/chats/${chat.id}/compact`, {})]) {
    assert.deepEqual(code(refused), [402, 'budget_reached'])
    const { available_usd, cap_usd } = refused.body.error.details
    assert.deepEqual([available_usd, cap_usd], [undefined, undefined])
    assert.doesNotMatch(refused.body.error.message, /are left/)
  }
  await set({ spend_cap_usd: null })
  assert.equal((await say()).status, 200)
})
