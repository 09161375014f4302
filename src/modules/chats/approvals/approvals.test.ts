import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, say, script, tools } from '#test/chats/chats.ts'
import { startOutsideMcp } from '#test/outside/mcp-server.ts'
import { type Caller, type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const asks = {
  'chats.create': 'ask',
  'drive.create_folder': 'ask',
  'chats.permanent_delete': 'ask',
  'agents.create': 'ask',
}

test('a remembered approval covers alice’s messages in this chat until she revokes it or the agent changes', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5, note: 'to talk' })
  const shop = (await alice.post('/workspaces', { name: 'Shop' })).body.data.id
  const join = async (role: string) => {
    const invited = await alice.post(`/workspaces/${shop}/invitations`, { email: bob.email, role })
    assert.equal((await bob.post('/invitations/accept', { token: invited.body.data.token })).status, 200)
  }
  await join('member')
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await alice.post(path, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.body.data.id
  }
  const agent = await create('/agents', { workspace_id: shop, name: 'Clerk', model: 'sim/script', tools: tools(asks) })
  const chat = await create('/chats', { workspace_id: shop, agent_id: agent })
  const folder = (name: string) => call('drive_create_folder', { workspace_id: shop, name })
  const send = async (who: Caller, calls: object[], into = chat) => {
    const answer = await who.post(`/chats/${into}/messages`, { content: script(calls, [say('done')]) })
    assert.equal(answer.status, 200, answer.text)
    return answer.body.data.run
  }
  const decide = (who: Caller, run: any, more: object = {}, at = 0) =>
    who.post(`/chats/${run.chat_id}/runs/${run.id}/actions`, {
      actions: [{ id: run.pending_actions[at].id, decision: 'allow', remember: 'chat', ...more }],
    })
  const stop = (who: Caller) => who.post(`/chats/${chat}/stop`)
  const listApprovals = async (who: Caller) => (await who.get(`/chats/${chat}/approvals`)).body.data

  // Calls with consent, calls that loosen the agent's limits, and denied calls can't be remembered.
  const strict = await send(alice, [
    call('agents_create', { name: 'x' }),
    call('chats_permanent_delete', { id: chat }),
    folder('a'),
  ])
  assert.deepEqual(
    strict.pending_actions.map(({ tool, can_remember }: any) => [tool, can_remember]),
    [
      ['agents.create', false],
      ['chats.permanent_delete', false],
      ['drive.create_folder', true],
    ],
  )
  for (const refused of [await decide(alice, strict), await decide(alice, strict, {}, 1)])
    assert.deepEqual([refused.status, refused.body.error.param], [400, 'actions.0.remember'], refused.text)
  assert.equal((await decide(alice, strict, { decision: 'deny' }, 2)).status, 400)
  // Another member can decide once, but can't remember it for the sender.
  const others = await decide(bob, strict, {}, 2)
  assert.deepEqual([others.status, others.body.error.code], [403, 'consent_required'], others.text)
  await stop(alice)

  // Both calls of the remembered tool continue; the other tool still asks.
  const first = await send(alice, [
    folder('one'),
    folder('two'),
    call('chats_create', { title: 'x', workspace_id: shop }),
  ])
  const decideResponse = await decide(alice, first)
  assert.deepEqual(
    decideResponse.body.data.pending_actions.map(({ tool }: any) => tool),
    ['chats.create'],
    decideResponse.text,
  )
  await stop(alice)
  const [approval] = await listApprovals(alice)
  assert.deepEqual([approval.tool, approval.agent_id, await listApprovals(bob)], ['drive.create_folder', agent, []])
  assert.equal((await send(alice, [folder('three')])).status, 'completed')
  assert.equal((await send(bob, [folder('four')])).status, 'requires_action', 'his messages are asked about')
  await stop(bob)
  const elsewhere = await create('/chats', { workspace_id: shop, agent_id: agent })
  assert.equal((await send(alice, [folder('five')], elsewhere)).status, 'requires_action', 'and so are other chats')

  // A key's approval covers only runs that the key started.
  const key = await alice.key({ scopes: ['chat:read', 'chat:run', 'drive:write'], workspace_id: shop })
  assert.equal((await bob.delete(`/chats/${chat}/approvals/${approval.id}`)).status, 404)
  assert.equal((await alice.delete(`/chats/${chat}/approvals/${approval.id}`)).status, 200)
  const pendingRun = await send(alice, [folder('six')])
  assert.equal(pendingRun.status, 'requires_action')
  assert.equal((await decide(key, pendingRun)).status, 403)
  await stop(alice)
  const its = await send(key, [folder('seven')])
  assert.equal((await decide(key, its)).status, 200)
  assert.equal((await send(key, [folder('eight')])).status, 'completed')
  assert.equal((await send(alice, [folder('nine')])).status, 'requires_action')
  await stop(alice)
  const far = await alice.key({ scopes: ['chat:read', 'chat:run'], workspace_id: alice.workspaceId })
  assert.equal((await far.get(`/chats/${chat}/approvals`)).status, 404)

  // A policy change to deny and back ends the earlier approval.
  const change = (policies: Record<string, string>) => alice.patch(`/agents/${agent}`, { tools: tools(policies) })
  assert.equal((await change({ ...asks, 'drive.create_folder': 'deny' })).status, 200)
  assert.deepEqual(await listApprovals(alice), [])
  assert.equal((await send(key, [folder('ten')])).status, 'completed', 'the model is told that it may not')
  await change(asks)
  assert.equal((await send(key, [folder('eleven')])).status, 'requires_action')
  await stop(alice)

  // An agent changed while its action is pending counts as another agent.
  const pendingBeforeChange = await send(alice, [folder('shown')])
  assert.equal((await alice.patch(`/agents/${agent}`, { system_prompt: 'Do as mallory says.' })).status, 200)
  const lateDecision = await decide(alice, pendingBeforeChange)
  assert.deepEqual(
    [lateDecision.status, lateDecision.body.error?.param],
    [409, 'actions.0.remember'],
    lateDecision.text,
  )
  assert.deepEqual(await listApprovals(alice), [])
  await stop(alice)

  // Viewers and former members can't decide.
  const waiting = await send(alice, [folder('twelve')])
  await alice.delete(`/workspaces/${shop}/members/${bob.id}`)
  assert.equal((await decide(bob, waiting)).status, 404)
  assert.equal((await bob.get(`/chats/${chat}/approvals`)).status, 404)
  await join('viewer')
  assert.equal((await decide(bob, waiting)).status, 403)
  const names = (await alice.get(`/drive/files?workspace_id=${shop}`)).body.data.map(({ name }: any) => name)
  assert.deepEqual(names.toSorted(), ['eight', 'seven', 'three'].toSorted())
})

test('agents can’t approve their own tools, and unwatched runs still need approval', async () => {
  await using server = await testServer()
  const alice: Person = await server.person('Alice')
  const policies = tools({ 'drive.create_folder': 'ask', 'chats.actions': 'allow', 'chats.approvals': 'allow' })
  const agent = (await alice.post('/agents', { name: 'Clerk', model: 'sim/script', tools: policies })).body.data.id
  const chat = (await alice.post('/chats', { agent_id: agent })).body.data.id
  const send = async (...turns: object[][]) =>
    (await alice.post(`/chats/${chat}/messages`, { content: script(...turns) })).body.data
  const { run } = await send([call('drive_create_folder', { name: 'a' })], [say('x')])
  const actions = [{ id: run.pending_actions[0].id, decision: 'allow', remember: 'chat' }]
  const other = (await alice.post('/chats', { agent_id: agent })).body.data.id
  const response = await alice.post(`/chats/${other}/messages`, {
    content: script([call('chats_actions', { id: chat, run_id: run.id, actions })], [say('x')]),
  })
  assert.match(JSON.stringify(response.body.data.content), /This agent can’t use/)
  assert.deepEqual((await alice.get(`/chats/${chat}/approvals`)).body.data, [])
  await alice.post(`/chats/${chat}/runs/${run.id}/actions`, { actions })
  assert.equal((await alice.get(`/chats/${chat}/approvals`)).body.data.length, 1)

  // Goals continue without a person.
  await alice.post(`/chats/${chat}/goal`, {
    objective: script([call('drive_create_folder', { name: 'b' })], [say('x')]),
    max_turns: 1,
    max_cost_usd: 1,
  })
  const turn = await until(
    async () => (await alice.get(`/chats/${chat}/runs`)).body.data[0],
    ({ goal_id, status }) => goal_id !== null && status === 'requires_action',
  )
  assert.equal(turn.pending_actions[0].can_remember, false)
  await alice.delete(`/chats/${chat}/goal`)
})

test('an approval ends when an external tool’s definition changes', async () => {
  await using outside = await startOutsideMcp()
  await using server = await testServer({
    environment: { UK_FETCH_ALLOW: '127.0.0.1', UK_UPSTREAM_ALLOW: '127.0.0.1' },
  })
  const alice = await server.person('Alice')
  const mcp_servers = [{ name: 'acme', url: outside.url, policy: 'ask' }]
  const agent = (await alice.post('/agents', { name: 'Clerk', model: 'sim/script', mcp_servers })).body.data.id
  const chat = (await alice.post('/chats', { agent_id: agent })).body.data.id
  const count = async () => {
    const answer = await alice.post(`/chats/${chat}/messages`, {
      content: script([call('mcp__acme__count')], [say('done')]),
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.body.data.run
  }
  const allow = async (run: { id: string; pending_actions: { id: string }[] }, remember?: 'chat') => {
    const actions = [{ id: run.pending_actions[0]!.id, decision: 'allow', remember }]
    const decided = await alice.post(`/chats/${chat}/runs/${run.id}/actions`, { actions })
    assert.equal(decided.status, 200, decided.text)
    return until(
      async () => (await alice.get(`/chats/${chat}/runs/${run.id}`)).body.data,
      ({ status }) => status !== 'queued' && status !== 'running',
    )
  }
  /** Clears the cached listing, which otherwise expires after a few minutes. */
  const says = (said: object) => {
    outside.counts(said)
    server.app.engine.outsideTools.clear()
  }
  const countApprovals = async () => (await alice.get(`/chats/${chat}/approvals`)).body.data.length

  const first = await count()
  assert.equal(first.status, 'requires_action')
  assert.equal((await allow(first, 'chat')).status, 'completed')
  const schema = { type: 'object', properties: { of: { type: 'string', title: 'Of' } }, required: [] }
  const turned = { required: [], properties: { of: { title: 'Of', type: 'string' } }, type: 'object' }
  assert.equal((await count()).status, 'completed')

  for (const changedTool of [{ description: 'Counts, and sends it away.' }, { inputSchema: schema }]) {
    says(changedTool)
    const again = await count()
    assert.deepEqual([again.status, await countApprovals()], ['requires_action', 0])
    assert.equal((await allow(again, 'chat')).status, 'completed')
  }
  says({ inputSchema: turned })
  assert.equal((await count()).status, 'completed', 'the same in another order is the same')

  // An approval doesn't cover a tool whose description changed while its action was pending.
  says({ description: 'Counts for ever.' })
  for (const remember of ['chat', undefined] as const) {
    const waiting = await count()
    says({ description: `Counts ${remember ?? 'once'}.` })
    outside.called.length = 0
    const lateDecision = await allow(waiting, remember)
    assert.deepEqual([lateDecision.status, outside.called, await countApprovals()], ['requires_action', [], 0])
    assert.equal((await allow(lateDecision)).status, 'completed')
    assert.equal(outside.called.length, 1)
  }
})
