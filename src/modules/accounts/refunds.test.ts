import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '#core/ids.ts'
import { testServer } from '#test/server.ts'

test('refunds can’t exceed the charge, and the spend cap still counts the original cost', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  const key = await bob.key({ spend_cap_usd: 1 })
  const response = await key.post('/inference/text', {
    model: 'sim/echo',
    messages: [{ role: 'user', content: 'one two' }],
  })
  assert.equal(response.body.data.cost_usd, 0.000006)
  const at = `/admin/calls/${response.body.data.id}/refunds`

  assert.equal((await bob.post(at, {})).body.error.code, 'insufficient_role')
  assert.equal((await key.post(at, {})).body.error.code, 'cookie_session_required')
  assert.equal((await alice.post(`/admin/calls/${newId()}/refunds`, {})).status, 404)
  const much = await alice.post(at, { amount_usd: 0.000007 })
  assert.deepEqual([much.status, much.body.error.param], [400, 'amount_usd'])

  const part = await alice.post(at, { amount_usd: 0.000002, note: 'cut off' })
  assert.equal(part.status, 201, part.text)
  assert.deepEqual([part.body.data.refunded_usd, part.body.data.balance_usd], [0.000002, 0.999996])
  const rest = await Promise.all([alice.post(at, {}), alice.post(at, {})])
  assert.deepEqual(rest.map(({ status }) => status).toSorted(), [201, 409], 'the rest is given back once')
  const { pool } = server.app.engine.postgres
  const { rows } = await pool.query(
    `select (select nano from balances where account_id = $1::ulid) as balance,
      (select sum(change)::int8 from ledger where account_id = $1::ulid) as lines,
      (select array_agg(kind order by seq) from ledger where call_id = $2::ulid) as kinds,
      (select count(*)::int from audit where action = 'call.refunded' and subject_id = $2::text) as audited`,
    [bob.id, response.body.data.id],
  )
  assert.deepEqual(rows[0], {
    balance: 1_000_000_000n,
    lines: 1_000_000_000n,
    kinds: ['reserve', 'settle', 'refund', 'refund'],
    audited: 2,
  })
  const [apiKey] = (await bob.get('/api-keys')).body.data
  assert.equal(apiKey.spent_usd, 0.000006)

  const free = await alice.post('/inference/text', { model: 'sim/echo', messages: [{ role: 'user', content: 'hi' }] })
  const nothing = await alice.post(`/admin/calls/${free.body.data.id}/refunds`, {})
  assert.deepEqual([nothing.status, nothing.body.error.details.status], [409, 'not_charged'])
})
