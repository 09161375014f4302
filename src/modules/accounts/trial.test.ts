import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simModels } from '#gateway/sim/offers.ts'
import { type Person, testServer } from '#test/server.ts'

const hello = (model: string) => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user' as const, content: '{"steps":[{"text":"Hello there."}]}' }],
})

/** Each way to call a model, with the status of its response. */
const ways: Record<string, (who: Person, model: string) => Promise<number>> = {
  'POST /inference/text': async (who, model) => {
    const { max_tokens: _, ...body } = hello(model)
    return (await who.post('/inference/text', body)).status
  },
  'compat-a': async (who, model) =>
    (await (await who.key()).post('/compat-a/v1/chat/completions', hello(model))).status,
  'compat-b': async (who, model) => (await (await who.key()).post('/compat-b/v1/messages', hello(model))).status,
  'compat-c': async (who, model) =>
    (await (await who.key()).post('/compat-c/v1/chat/completions', hello(model))).status,
  'a chat': async (who, model) => {
    const chat = (await who.post('/chats', { model })).body.data.id
    return (await who.post(`/chats/${chat}/messages`, { content: '{"steps":[{"text":"Hello there."}]}' })).status
  },
}

test('invited members use every simulated model without credits and keep their credits; others pay', async () => {
  await using server = await testServer({ environment: { UK_SIM: 'on' } })
  const alice = await server.person('Alice')
  const [member, stranger] = [await server.person('Member'), await server.person('Stranger')]
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  const invitation = (await alice.post(`/workspaces/${team}/invitations`, { email: member.email })).body.data
  await member.post('/invitations/accept', { token: invitation.token })
  const balanceOf = async (who: Person): Promise<number> => {
    await server.app.engine.ledger.flush()
    return (await who.get('/me/usage')).body.data.balance_usd
  }
  const callAll = async (who: Person): Promise<Record<string, number>> => {
    const statuses: Record<string, number> = {}
    for (const { slug } of simModels)
      for (const [way, call] of Object.entries(ways)) statuses[`${way} ${slug}`] = await call(who, slug)
    return statuses
  }
  const all = (status: number) =>
    Object.fromEntries(simModels.flatMap(({ slug }) => Object.keys(ways).map((way) => [`${way} ${slug}`, status])))

  assert.deepEqual(await callAll(member), all(200))
  assert.deepEqual(await callAll(stranger), all(402))
  for (const who of [member, stranger])
    await alice.post(`/admin/accounts/${who.id}/credits`, { amount_usd: 1, note: 'test' })
  assert.deepEqual(await callAll(member), all(200))
  assert.equal(await balanceOf(member), 1)
  assert.deepEqual(await callAll(stranger), all(200))
  assert.ok((await balanceOf(stranger)) < 1)

  // Spend caps still count the published price.
  const key = await member.key({ spend_cap_usd: 0.000001 })
  const cappedResponse = await key.post('/inference/text', {
    model: 'sim/echo',
    messages: [{ role: 'user', content: 'one two' }],
  })
  assert.deepEqual([cappedResponse.status, cappedResponse.body.error.code], [402, 'spend_cap_reached'])
  const usage = (await member.get('/me/usage')).body.data
  assert.ok(usage.spent_usd === undefined || usage.spent_usd > 0, JSON.stringify(usage))

  // The preview matches the call.
  const preview = async (who: Person) =>
    (await who.post('/ai-gateway/routing-preview', { model: 'sim/echo', input_tokens: 10, max_tokens: 10 })).body.data
  assert.equal((await preview(member)).candidates.length, 1)
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query(
    'select sum(charged_nano)::int as charged, min(cost_nano)::int > 0 as priced from calls where account_id = $1',
    [member.id],
  )
  assert.deepEqual(rows, [{ charged: 0, priced: true }])

  // Former members pay again.
  assert.equal((await alice.delete(`/workspaces/${team}/members/${member.id}`)).status, 200)
  await ways['POST /inference/text']!(member, 'sim/echo')
  assert.ok((await balanceOf(member)) < 1)
})
