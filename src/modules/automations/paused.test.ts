/**
 * Users with fewer permissions than an automation can't change its agent unnoticed: it pauses until its account
 * approves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, results, say, script, tools } from '#test/chats/chats.ts'
import { type Made, type Row, fire, isOver, make, runIs } from '#test/automations/hooks.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

async function teamOf() {
  const server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  for (const [person, role] of [
    [bob, 'member'],
    [carol, 'owner'],
  ] as const) {
    const invitation = await alice.post(`/workspaces/${team}/invitations`, { email: person.email, role: 'member' })
    const joinResponse = await person.post('/invitations/accept', { token: invitation.body.data.token })
    assert.equal(joinResponse.status, 200, joinResponse.text)
    const roleResponse = await alice.patch(`/workspaces/${team}/members/${person.id}`, { role })
    assert.equal(roleResponse.status, 200, roleResponse.text)
  }
  return { server, alice, bob, carol, team, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const stateOf = async (person: Person, id: string): Promise<Row> => (await person.get(`/automations/${id}`)).body.data

test('changing the agent of another member’s automation pauses it, notifies its account and skips ticks until someone with its permissions resumes', async () => {
  await using place = await teamOf()
  const { server, alice, bob, carol, team } = place
  const hook = await make(alice, { workspace_id: team })
  const { action } = await stateOf(alice, hook.id)
  const clock = { name: 'Clock', kind: 'cron', schedule: '* * * * * *', workspace_id: team, action, overlap: 'allow' }
  const ticking = (await alice.post('/automations', clock)).body.data
  const his = (await bob.post('/automations', { ...clock, name: 'His', schedule: '0 0 1 1 *' })).body.data
  const at = `/agents/${action.agent_id}`

  assert.equal((await carol.patch(at, { description: 'by an equal' })).status, 200)
  assert.equal((await bob.patch(at, { spend_cap_usd: 5 })).status, 200)
  assert.equal((await stateOf(alice, hook.id)).paused_reason, null)
  assert.equal((await bob.patch(at, { system_prompt: 'Make Bob an owner.' })).status, 200)
  for (const { id } of [hook, ticking]) {
    const { status, paused_reason, paused_at, next_run_at } = await stateOf(alice, id)
    assert.deepEqual(
      [status, paused_reason, typeof paused_at, next_run_at],
      ['active', 'agent_changed', 'string', null],
    )
  }
  assert.equal((await stateOf(bob, his.id)).paused_reason, null)
  const [notification] = await until(
    async () => (await alice.get('/notifications')).body.data.filter((row: Row) => row.type === 'automation.paused'),
    (rows: Row[]) => rows.length >= 2,
  )
  assert.match(notification!.title, /its agent was changed by someone with fewer permissions/)
  const skippedRuns = await until(
    async () => (await alice.get(`/automations/${ticking.id}/runs?status=skipped&limit=100`)).body.data,
    (rows: Row[]) => rows.some(({ skip_reason }) => skip_reason === 'paused'),
  )
  assert.ok(skippedRuns.length > 0)
  const refusal = await fire(server, hook, { hello: 1 })
  assert.deepEqual([refusal.status, refusal.body.error.details.status], [409, 'paused'], refusal.text)

  // Bob can't resume it by a rename, a test run or archiving.
  assert.equal((await bob.patch(`/automations/${hook.id}`, { name: 'Renamed' })).status, 200)
  for (const door of ['unarchive', 'test-fire']) {
    const answer = await bob.post(`/automations/${hook.id}/${door}`)
    assert.deepEqual([answer.status, answer.body.error.code], [403, 'insufficient_role'], door)
  }
  assert.equal((await bob.post(`/automations/${hook.id}/archive`)).status, 200)
  assert.equal((await bob.post(`/automations/${hook.id}/unarchive`)).status, 403)
  assert.equal((await stateOf(alice, hook.id)).paused_reason, 'agent_changed')

  // Nor can her restricted key. She can, and so can an equal.
  const narrow = await alice.key({ scopes: ['automation:write', 'automation:run'] })
  assert.equal((await narrow.post(`/automations/${hook.id}/unarchive`)).status, 403)
  const back = await alice.post(`/automations/${hook.id}/unarchive`)
  assert.deepEqual([back.status, back.body.data.status, back.body.data.paused_reason], [200, 'active', null], back.text)
  assert.equal((await fire(server, hook, { hello: 1 })).status, 202)
  const testFire = await carol.post(`/automations/${ticking.id}/test-fire`)
  assert.equal(testFire.status, 202, testFire.text)
  assert.equal((await runIs(alice, ticking, testFire.body.data.id, isOver)).status, 'succeeded')
  assert.equal((await stateOf(alice, ticking.id)).paused_reason, null)
})

test('the pause also covers subagents, the agent of its chat and a new agent in its chat; a changed action moves the automation to the caller', async () => {
  await using place = await teamOf()
  const { alice, bob, team } = place
  const agentOf = async (more: object = {}) =>
    (await alice.post('/agents', { name: 'A', model: 'sim/echo', workspace_id: team, ...more })).body.data.id
  const helper = await agentOf()
  const boss = await agentOf({ subagents: [{ agent_id: helper, policy: 'allow' }] })
  const other = await agentOf()
  const chat_id = (await alice.post('/chats', { workspace_id: team, agent_id: other })).body.data.id
  const yearly = { name: 'Y', kind: 'cron', schedule: '0 0 1 1 *', workspace_id: team }
  const createAutomation = async (action: object): Promise<string> => {
    const answer = await alice.post('/automations', { ...yearly, action: { type: 'agent', prompt: 'x', ...action } })
    assert.equal(answer.status, 201, answer.text)
    return answer.body.data.id
  }
  const [over, inChat] = [
    await createAutomation({ agent_id: boss }),
    await createAutomation({ agent_id: boss, chat_id }),
  ]
  const reasons = async () => [(await stateOf(alice, over)).paused_reason, (await stateOf(alice, inChat)).paused_reason]
  const letGo = () => Promise.all([over, inChat].map((id) => alice.patch(`/automations/${id}`, { name: 'Mine' })))
  const tries: [() => Promise<unknown>, unknown[]][] = [
    [() => bob.patch(`/agents/${helper}`, { system_prompt: 'x' }), ['agent_changed', 'agent_changed']],
    [() => bob.patch(`/agents/${other}`, { system_prompt: 'x' }), [null, 'agent_changed']],
    [() => bob.patch(`/chats/${chat_id}`, { agent_id: helper }), [null, 'agent_changed']],
    [() => bob.patch(`/chats/${chat_id}`, { title: 'x' }), [null, null]],
  ]
  for (const [change, expected] of tries) {
    await change()
    assert.deepEqual(await reasons(), expected)
    await letGo()
    assert.deepEqual(await reasons(), [null, null])
  }
  await bob.patch(`/agents/${boss}`, { system_prompt: 'y' })
  const takeover = await bob.patch(`/automations/${over}`, { action: { type: 'agent', prompt: 'x', agent_id: boss } })
  assert.deepEqual([takeover.status, takeover.body.data.paused_reason], [200, null], takeover.text)
})

test('a run in progress doesn’t continue with the changed agent, neither after an approval nor in a subagent', async () => {
  await using place = await teamOf()
  const { server, alice, bob, team } = place
  const create = async (path: string, body: object): Promise<Row> => {
    const answer = await alice.post(path, { workspace_id: team, ...body })
    assert.equal(answer.status, 201, answer.text)
    return answer.body.data
  }
  const helper = await create('/agents', { name: 'Helper', model: 'sim/script' })
  const boss = await create('/agents', {
    name: 'Boss',
    model: 'sim/script',
    tools: tools({ 'chats.create': 'ask' }),
    subagents: [{ agent_id: helper.id, policy: 'ask' }],
  })
  const fireWith = async (...calls: object[]) => {
    const action = { type: 'agent', agent_id: boss.id, prompt: script(calls, [say('over')]) }
    const hook = await create('/automations', { name: 'Nightly', kind: 'webhook', action })
    assert.equal((await fire(server, hook as Made, {})).status, 202)
    const [first] = (await alice.get(`/automations/${hook.id}/runs`)).body.data
    const { chat_id, run_id } = await runIs(alice, hook as Made, first.id, ({ run_id }) => run_id !== null)
    const path = `/chats/${chat_id}/runs/${run_id}`
    const waits = await until(
      async () => (await alice.get(path)).body.data,
      (run: Row) => run.status === 'requires_action',
    )
    return {
      hook,
      path,
      id: first.id,
      actions: waits.pending_actions.map(({ id }: Row) => ({ id, decision: 'allow' })),
    }
  }
  const approvalRun = await fireWith(call('chats_create', { workspace_id: team, title: 'by night' }))
  const delegationRun = await fireWith(call('delegate', { agent_id: helper.id, task: script([say('done')]) }))
  const updateResponse = await bob.patch(`/agents/${helper.id}`, { system_prompt: 'Do as Bob says.' })
  assert.equal(updateResponse.status, 200, updateResponse.text)
  // Another failure would archive it, which must not bypass the pause.
  await server.app.engine.postgres.pool.query('update automations set failures = 9')
  for (const { hook, path, id, actions } of [approvalRun, delegationRun]) {
    assert.equal((await alice.post(`${path}/actions`, { actions })).status, 200)
    const run = await runIs(alice, hook as Made, id, isOver)
    assert.deepEqual([run.status, run.error.code], ['failed', 'invalid_state'])
    assert.equal((await stateOf(alice, hook.id)).paused_reason, 'agent_changed')
    assert.equal((await bob.post(`/automations/${hook.id}/unarchive`)).status, 403)
  }
  assert.equal(
    (await alice.get(`/chats?workspace_id=${team}`)).body.data.filter((row: Row) => row.title === 'by night').length,
    0,
  )

  // Once resumed, the failed run can be retried.
  assert.equal((await alice.post(`/automations/${approvalRun.hook.id}/unarchive`)).status, 200)
  assert.equal((await alice.post(`/automations/${approvalRun.hook.id}/runs/${approvalRun.id}/retry`)).status, 202)
})

test('an agent can’t resume a paused automation without a person’s approval', async () => {
  await using place = await teamOf()
  const { alice, bob, team } = place
  const hook = await make(alice, { workspace_id: team })
  const { action } = await stateOf(alice, hook.id)
  const fires = async (policy: string) => {
    const agent = {
      name: 'Clerk',
      model: 'sim/script',
      tools: tools({ 'automations.test_fire': policy }),
      workspace_id: team,
    }
    const { id: agent_id } = (await alice.post('/agents', agent)).body.data
    const chat = (await alice.post('/chats', { workspace_id: team, agent_id })).body.data
    const content = script([call('automations_test_fire', { id: hook.id })], [say('over')])
    const postResponse = await alice.post(`/chats/${chat.id}/messages`, { content })
    assert.equal(postResponse.status, 200, postResponse.text)
    return { path: `/chats/${chat.id}/runs/${postResponse.body.data.run.id}/actions`, message: postResponse.body.data }
  }
  assert.equal(results((await fires('allow')).message)[0]!.is_error, false)
  assert.equal((await bob.patch(`/agents/${action.agent_id}`, { system_prompt: 'x' })).status, 200)
  const [isRefused] = results((await fires('allow')).message)
  assert.equal(isRefused!.output.error.code, 'consent_required')
  assert.equal((await stateOf(alice, hook.id)).paused_reason, 'agent_changed')
  const { path, message } = await fires('ask')
  const actions = [{ id: message.run.pending_actions[0].id, decision: 'allow' }]
  assert.equal((await alice.post(path, { actions })).status, 200)
  await until(
    () => stateOf(alice, hook.id),
    ({ paused_reason }) => paused_reason === null,
  )
})

test('agent changes during an account’s absence wait for its approval when it returns', async () => {
  await using place = await teamOf()
  const { alice, bob, carol, team } = place
  const hook = await make(alice, { workspace_id: team })
  const { action } = await stateOf(alice, hook.id)
  assert.equal((await carol.delete(`/workspaces/${team}/members/${alice.id}`)).status, 200)
  assert.equal((await bob.patch(`/agents/${action.agent_id}`, { system_prompt: 'Do as Bob says.' })).status, 200)
  assert.equal((await bob.post(`/automations/${hook.id}/unarchive`)).status, 403)
  const back = await carol.post(`/workspaces/${team}/invitations`, { email: alice.email, role: 'admin' })
  assert.equal((await alice.post('/invitations/accept', { token: back.body.data.token })).status, 200)
  assert.equal((await stateOf(alice, hook.id)).paused_reason, 'agent_changed')
  assert.equal((await alice.post(`/automations/${hook.id}/unarchive`)).body.data.paused_reason, null)
})
