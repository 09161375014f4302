import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]
const notificationOf = async (by: Caller, type: string) =>
  (
    await until(
      () => by.get(`/notifications?type=${type}`),
      ({ body }) => body.data.length > 0,
    )
  ).body.data[0]

test('a credit request notifies administrators, and the grant notifies the requester', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const key = await bob.key()
  const ask = () =>
    key.post('/inference/text', {
      model: 'sim/echo',
      max_output_tokens: 10,
      messages: [{ role: 'user', content: 'a' }],
    })
  assert.deepEqual(code(await ask()), [402, 'insufficient_credits'])
  const response = await key.post('/me/credit-requests', { amount_usd: 5, note: 'for the report' })
  assert.equal(response.status, 201)
  assert.deepEqual(
    [response.body.data.status, response.body.data.amount_usd, response.body.data.balance_usd],
    ['pending', 5, 0],
  )
  assert.deepEqual(code(await bob.post('/me/credit-requests', {})), [409, 'already_exists'])
  const notice = await notificationOf(alice, 'credits.requested')
  assert.deepEqual(
    [notice.title, notice.body, notice.action_url],
    ['Bob requests credits', '5 USD. “for the report”', '/app/accounts'],
  )
  const [pendingRequest] = (await alice.get('/admin/credit-requests?status=pending')).body.data
  assert.deepEqual(
    [pendingRequest.id, pendingRequest.name, pendingRequest.email],
    [response.body.data.id, 'Bob', bob.email],
  )

  const at = `/admin/credit-requests/${pendingRequest.id}`
  const grantReply = (await alice.post(`${at}/grant`, { note: 'here you are' })).body.data
  assert.deepEqual([grantReply.status, grantReply.granted_usd, grantReply.balance_usd], ['granted', 5, 5])
  const again = await alice.post(`${at}/grant`, {})
  assert.deepEqual([again.status, again.body.data.balance_usd], [200, 5], 'once')
  assert.deepEqual(code(await alice.post(`${at}/refuse`, {})), [409, 'invalid_state'])
  const answer = await notificationOf(bob, 'credits.granted')
  assert.deepEqual([answer.title, answer.body], ['You received 5 USD in credits', 'here you are'])
  assert.equal((await ask()).status, 200)
  assert.equal((await bob.get('/me/credit-requests')).body.data[0].answer, 'here you are')

  const second = (await bob.post('/me/credit-requests', { note: 'more' })).body.data
  const other = `/admin/credit-requests/${second.id}`
  assert.deepEqual(code(await alice.post(`${other}/grant`, {})), [400, 'missing_parameter'])
  assert.equal((await alice.post(`${other}/refuse`, { note: 'next month' })).body.data.status, 'refused')
  assert.equal((await notificationOf(bob, 'credits.refused')).body, 'next month')
})

test('only accounts with a balance can request credits, and only administrators can decide', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  assert.deepEqual(code(await alice.post('/me/credit-requests', {})), [409, 'invalid_state'])
  const boundKey = await bob.key({ workspace_id: bob.workspaceId })
  assert.deepEqual(code(await boundKey.post('/me/credit-requests', {})), [403, 'capability_denied'])
  const narrow = await bob.key({ scopes: ['usage:read'] })
  assert.deepEqual(code(await narrow.post('/me/credit-requests', {})), [403, 'missing_scope'])
  const all = await Promise.all([1, 2, 3].map(() => bob.post('/me/credit-requests', { amount_usd: 1 })))
  assert.deepEqual(all.map(({ status }) => status).toSorted(), [201, 409, 409], 'one at a time')
  const { id } = (await alice.get('/admin/credit-requests')).body.data[0]
  assert.deepEqual((await carol.get('/me/credit-requests')).body.data, [])
  for (const path of ['grant', 'refuse'])
    assert.deepEqual(code(await bob.post(`/admin/credit-requests/${id}/${path}`, {})), [403, 'insufficient_role'])
  assert.deepEqual(code(await bob.get('/admin/credit-requests')), [403, 'insufficient_role'])
  assert.deepEqual(code(await (await alice.key()).get('/admin/credit-requests')), [403, 'cookie_session_required'])
})

test('administrators see balances and spending, and grant credits by address or name', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob Stone')]
  const grant = (nameOrId: string) =>
    alice.post(`/admin/accounts/${encodeURIComponent(nameOrId)}/credits`, { amount_usd: 1 })
  const refusal = await grant(bob.email)
  assert.deepEqual(code(refusal), [409, 'invalid_state'])
  assert.ok(refusal.body.error.message.includes(bob.id), refusal.text)
  const { pool } = server.app.engine.postgres
  await pool.query('update accounts set email_verified_at = now() where id = $1', [bob.id])
  assert.equal(
    (await grant(alice.email)).status,
    201,
    'the administrator vouches for the instance, and so for this address',
  )
  for (const nameOrId of [bob.id, bob.id.toLowerCase(), bob.email.toUpperCase(), 'bob stone'])
    assert.equal((await grant(nameOrId)).body.data?.account_id, bob.id, nameOrId)
  assert.equal((await grant('nobody@example.com')).status, 404)
  assert.equal((await grant('Nobody')).status, 404)
  const key = await bob.key()
  const from = Date.now()
  await key.post('/inference/text', {
    model: 'sim/echo',
    max_output_tokens: 10,
    messages: [{ role: 'user', content: 'one two three' }],
  })
  const [row, ...others] = (await alice.get('/admin/accounts?q=STONE')).body.data
  assert.deepEqual(others, [])
  assert.deepEqual([row.id, row.status, row.spent_usd], [bob.id, 'active', 0.000009])
  assert.deepEqual([row.spent_30d_usd, row.balance_usd], [0.000009, 3.999991])
  assert.ok(Date.parse(row.last_seen_at) >= from - 60_000, row.last_seen_at)
  const rows = (await alice.get('/admin/accounts')).body.data
  assert.deepEqual(
    rows.map((one: { name: string; balance_usd: number | null }) => [one.name, one.balance_usd]),
    [
      ['Bob Stone', 3.999991],
      ['Alice', null],
    ],
  )
  const twin = await server.stranger.post(
    '/auth/sign-up',
    { email: 'other@example.com', password: 'another password', name: 'Bob Stone' },
    { 'x-uk-csrf': '1' },
  )
  assert.equal(twin.status, 201)
  const unclear = await grant('Bob Stone')
  assert.deepEqual([unclear.status, unclear.body.error.details.accounts.length], [400, 2])
})

test('an account named like someone else’s address or ID doesn’t receive credits granted to those', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  for (const nameOrId of ['carol@example.com', '01ARZ3NDEKTSV4RRFFQ69G5FAV']) {
    await server.person(nameOrId)
    const response = await alice.post(`/admin/accounts/${encodeURIComponent(nameOrId)}/credits`, { amount_usd: 1 })
    assert.equal(response.status, 404, nameOrId)
  }
})

test('an amount that would round to zero is refused with its field', async () => {
  await using server = await testServer()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  for (const amount_usd of [1e-10, 0, -1, 4e-10]) {
    for (const answer of [
      await bob.post('/me/credit-requests', { amount_usd }),
      await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd }),
    ])
      assert.deepEqual([answer.status, answer.body.error?.param], [400, 'amount_usd'], answer.text)
  }
  assert.equal((await bob.post('/me/credit-requests', { amount_usd: 1e-9 })).status, 201)
})
