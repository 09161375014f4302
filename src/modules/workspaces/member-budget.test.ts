import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, type Person, type TestServer, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

// 1 / 2 USD per million: 100 words in and 100 out cost 0.0003 USD.
const words = (n: number): string => Array.from({ length: n }, () => 'word').join(' ')
const ask = (by: Caller) =>
  by.post('/compat-a/v1/chat/completions', {
    model: 'sim/echo',
    max_tokens: 100,
    messages: [{ role: 'user', content: words(100) }],
  })

/** Alice's team with bob in it, who has credits. */
async function teamOf(server: TestServer, alice: Person, bob: Person, role = 'member') {
  const { id } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const invited = (await alice.post(`/workspaces/${id}/invitations`, { email: bob.email, role })).body.data
  const { member } = (await bob.post('/invitations/accept', { token: invited.token })).body.data
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
  const at = `/workspaces/${id}/members/${member.id}`
  const spent = async (): Promise<number> => {
    const rows = (await alice.get(`/workspaces/${id}/members`)).body.data
    return rows.find((row: { id: string }) => row.id === member.id).spent_usd
  }
  return { id: id as string, at, memberId: member.id as string, spent }
}

test('a member’s budget limits all their calls in a workspace, by any key, chat or automation, across two processes', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const team = await teamOf(server, alice, bob)
  const hers = await alice.key({ workspace_id: team.id })
  const his = [await bob.key({ workspace_id: team.id }), await bob.key({ workspace_id: team.id, name: 'second' })]
  const there = his.map((key) => caller(twin.origin, key.headers))
  assert.equal((await ask(his[0]!)).status, 200)

  const set = (await alice.patch(team.at, { spend_cap_usd: 0.004, spend_cap_period: 'month' })).body.data
  assert.deepEqual(
    [set.spend_cap_usd, set.spend_cap_period, set.spent_usd],
    [0.004, 'month', 0.0003],
    'what was spent before counts',
  )
  // The other process hears of it.
  const probe = await alice.patch(team.at, { spend_cap_usd: 0 })
  assert.equal(probe.status, 200)
  await until(
    () => ask(there[0]!),
    ({ status }) => status !== 200,
  )
  await alice.patch(team.at, { spend_cap_usd: 0.004 })
  await until(
    () => ask(there[0]!),
    ({ status }) => status === 200,
  )

  const chat = (await bob.post('/chats', { workspace_id: team.id, model: 'sim/echo' })).body.data
  const agent = (await bob.post('/agents', { workspace_id: team.id, name: 'Clerk', model: 'sim/echo' })).body.data
  const automation = (
    await bob.post('/automations', {
      workspace_id: team.id,
      name: 'Report',
      kind: 'webhook',
      action: { type: 'agent', agent_id: agent.id, prompt: words(100) },
    })
  ).body.data
  const ways = [...his, ...there]
  const answers = await Promise.all([
    ...Array.from({ length: 40 }, (_, i) => ask(ways[i % ways.length]!)),
    bob.post(`/chats/${chat.id}/messages`, { content: words(100) }),
    bob.post(`/automations/${automation.id}/test-fire`, {}),
  ])
  assert.ok(answers.some(({ status }) => status === 200))
  const last = await until(
    async () => {
      // Reading the spending settles finished calls, so later refusals are final.
      await team.spent()
      return ask(his[1]!)
    },
    ({ status }) => status !== 200,
  )
  assert.equal(last.status, 402)
  assert.match(last.body.error.message, /budget of the member/)
  assert.ok((await team.spent()) <= 0.004, 'never over')
  const { rows } = await server.app.engine.postgres.pool.query<{ usd: number }>(
    `select sum(cost_nano)::float8 / 1e9 as usd from calls where account_id = $1 and workspace_id = $2`,
    [bob.id, team.id],
  )
  assert.ok(rows[0]!.usd <= 0.004 + 1e-12, `the record says ${rows[0]!.usd}`)

  // Each way says which budget it was.
  const rest = await his[0]!.post('/inference/text', {
    model: 'sim/echo',
    max_output_tokens: 1_000,
    messages: [{ role: 'user', content: words(1_000) }],
  })
  assert.deepEqual(
    [rest.status, rest.body.error.code, rest.body.error.details.budget, rest.body.error.details.subject],
    [402, 'budget_reached', 'member', team.memberId],
  )
  const said = await bob.post(`/chats/${chat.id}/messages`, { content: words(5_000) })
  assert.deepEqual([said.status, said.body.error.code], [402, 'budget_reached'])
  await bob.patch(`/automations/${automation.id}`, {
    action: { type: 'agent', agent_id: agent.id, prompt: words(5_000) },
  })
  const fired = (await bob.post(`/automations/${automation.id}/test-fire`, {})).body.data
  const run = await until(
    async () => {
      const { body } = await bob.get(`/automations/runs?workspace_id=${team.id}`)
      return body.data.find(({ id }: { id: string }) => id === fired.id)
    },
    ({ status }) => status === 'failed' || status === 'succeeded',
  )
  assert.deepEqual([run.status, run.error?.code], ['failed', 'budget_reached'])
  assert.ok((await team.spent()) <= 0.004)
  assert.equal((await ask(hers)).status, 200, 'it is bob’s alone')
  assert.equal((await ask(await bob.key())).status, 200, 'and holds in the team alone')

  // The next period starts at zero.
  const month = new Date().toISOString().slice(0, 7)
  await server.app.engine.postgres.pool.query(
    `update spends set period = '2000-01' where subject = $1 and period = $2`,
    [team.memberId, month],
  )
  assert.equal(await team.spent(), 0)
  assert.equal((await ask(his[0]!)).status, 200)
})

test('a member invited with a budget always has it, and non-admins can’t see others’ spending or change budgets', async () => {
  await using server = await testServer()
  const [alice, bob, carol, eve] = [
    await server.person('Alice'),
    await server.person('Bob'),
    await server.person('Carol'),
    await server.person('Eve'),
  ]
  const team = await teamOf(server, alice, bob, 'admin')
  const invited = (
    await alice.post(`/workspaces/${team.id}/invitations`, {
      email: carol.email,
      role: 'viewer',
      spend_cap_usd: 20,
      spend_cap_period: 'week',
    })
  ).body.data
  assert.deepEqual([invited.spend_cap_usd, invited.spend_cap_period], [20, 'week'])
  const { member } = (await carol.post('/invitations/accept', { token: invited.token })).body.data
  assert.deepEqual([member.spend_cap_usd, member.spend_cap_period], [20, 'week'])
  const hers = `/workspaces/${team.id}/members/${member.id}`
  const spends = async (by: Caller) =>
    Object.fromEntries(
      (await by.get(`/workspaces/${team.id}/members`)).body.data.map((row: { name: string; spent_usd: unknown }) => [
        row.name,
        row.spent_usd,
      ]),
    )
  assert.deepEqual(await spends(carol), { Alice: null, Bob: null, Carol: 0 })
  assert.deepEqual(await spends(bob), { Alice: 0, Bob: 0, Carol: 0 })

  const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]
  const raise = { spend_cap_usd: 1_000 }
  assert.deepEqual(code(await carol.patch(hers, raise)), [403, 'insufficient_role'], 'a viewer, of herself')
  assert.equal((await eve.patch(hers, raise)).status, 404, 'a stranger')
  const elsewhere = await bob.key({ workspace_id: bob.workspaceId })
  assert.equal((await elsewhere.patch(hers, raise)).status, 404, 'a key that is held elsewhere')
  assert.deepEqual(code(await bob.patch(team.at, raise)), [403, 'insufficient_role'], 'an admin, of himself')
  assert.deepEqual(code(await bob.patch(`/workspaces/${team.id}/members/${alice.id}`, raise)), [
    403,
    'insufficient_role',
  ])
  assert.equal((await bob.patch(hers, { spend_cap_usd: 10 })).body.data.spend_cap_usd, 10)
  const bobs = await bob.key({ workspace_id: team.id })
  assert.equal((await bobs.patch(hers, { spend_cap_usd: 9 })).body.data.spend_cap_usd, 9)
  await alice.delete(team.at)
  assert.equal((await bob.patch(hers, raise)).status, 404, 'an ex-member')
  assert.equal((await bobs.patch(hers, raise)).status, 404, 'and the key of one')
  const personal = await alice.patch(`/workspaces/${alice.workspaceId}/members/${alice.id}`, raise)
  assert.deepEqual(code(personal), [409, 'personal_workspace'])
})
