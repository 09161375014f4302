import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

// 1 / 2 USD per million: 100 words in and 100 out cost 0.0003 USD.
const words = (n: number): string => Array.from({ length: n }, () => 'word').join(' ')
const ask = (by: Caller, more: object = {}) =>
  by.post('/compat-a/v1/chat/completions', {
    model: 'sim/echo',
    max_tokens: 100,
    messages: [{ role: 'user', content: words(100) }],
    ...more,
  })

test('a workspace budget counts earlier spending, applies to all members, and each surface reports it', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data
  assert.deepEqual([team.spend_cap_usd, team.spend_cap_period, team.spent_usd], [null, 'month', 0])
  const invited = await alice.post(`/workspaces/${team.id}/invitations`, { email: bob.email, role: 'member' })
  await bob.post('/invitations/accept', { token: invited.body.data.token })
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
  const hers = await alice.key({ workspace_id: team.id })
  const his = await bob.key({ workspace_id: team.id })
  const elsewhere = await bob.key()

  assert.equal((await ask(hers)).status, 200)
  assert.equal((await alice.get(`/workspaces/${team.id}`)).body.data.spent_usd, 0.0003)

  const refused = await bob.patch(`/workspaces/${team.id}`, { spend_cap_usd: 100 })
  assert.equal(refused.body.error.code, 'insufficient_role')
  const set = await alice.patch(`/workspaces/${team.id}`, { spend_cap_usd: 0.004, spend_cap_period: 'day' })
  assert.deepEqual([set.body.data.spend_cap_usd, set.body.data.spent_usd], [0.004, 0.0003])

  // 0.0037 USD are left: a call holds a token per byte, 0.0009 USD and a little, until it is over.
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(i % 2 === 0 ? hers : his)))
  assert.ok(answers.some(({ status }) => status === 200))
  for (;;) {
    // Reading the spending settles finished calls, so later refusals are final.
    await bob.get(`/workspaces/${team.id}`)
    const { status, body } = await ask(his)
    if (status === 200) continue
    assert.equal(status, 402)
    assert.equal(body.error.code, 'budget_reached')
    break
  }
  const { spent_usd } = (await bob.get(`/workspaces/${team.id}`)).body.data
  assert.ok(spent_usd > 0.003 && spent_usd <= 0.004, String(spent_usd))

  const messages = [{ role: 'user', content: words(1_000) }]
  const b = await his.post('/compat-b/v1/messages', { model: 'sim/echo', max_tokens: 1_000, messages })
  assert.equal(b.status, 402)
  assert.equal(b.body.type, 'error')
  assert.match(b.body.error.message, /budget of the workspace/)
  const c = await his.post('/compat-c/v1/chat/completions', { model: 'sim/echo', max_tokens: 1_000, messages })
  assert.deepEqual([c.status, c.body.error.code], [402, 402])
  const rest = await his.post('/inference/text', { model: 'sim/echo', max_output_tokens: 1_000, messages })
  assert.deepEqual([rest.status, rest.body.error.code], [402, 'budget_reached'])
  assert.equal(rest.body.error.details.subject, team.id)
  const chat = await his.post('/chats', { workspace_id: team.id, model: 'sim/echo' })
  const said = await his.post(`/chats/${chat.body.data.id}/messages`, { content: words(10_000) })
  assert.deepEqual([said.status, said.body.error.code], [402, 'budget_reached'])

  assert.equal((await ask(elsewhere)).status, 200, 'his own workspace has no budget')
  await alice.patch(`/workspaces/${team.id}`, { spend_cap_usd: null })
  assert.equal((await ask(his)).status, 200)
})

test('a budget set by one process applies in another', async () => {
  await using server = await testServer()
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const there = { ...key, origin: twin.origin }
  const askThere = async () =>
    (
      await fetch(`${there.origin}/compat-a/v1/chat/completions`, {
        method: 'POST',
        headers: { ...key.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim/echo', messages: [{ role: 'user', content: 'hello' }] }),
      })
    ).status
  assert.equal(await askThere(), 200)
  await alice.patch(`/workspaces/${alice.workspaceId}`, { spend_cap_usd: 0 })
  await until(askThere, (status) => status !== 200)
})
