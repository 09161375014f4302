import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('admins see, cap and revoke a workspace’s keys; only owners get the secret, and others see nothing', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  for (const person of [bob, carol]) {
    const invited = await alice.post(`/workspaces/${team}/invitations`, { email: person.email, role: 'member' })
    await person.post('/invitations/accept', { token: invited.body.data.token })
  }
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  const key = await bob.key({ workspace_id: team, name: 'bob at work' })
  const own = await bob.key({ name: 'bob at home' })
  const ask = () => key.post('/inference/text', { model: 'sim/echo', messages: [{ role: 'user', content: 'one' }] })
  assert.equal((await ask()).status, 200)

  const { data } = (await alice.get(`/api-keys?workspace_id=${team}`)).body
  assert.deepEqual(
    data.map((row: { id: string; created_by: string; spent_usd: number }) => [row.id, row.created_by, row.spent_usd]),
    [[key.keyId, bob.id, 0.000003]],
  )
  assert.deepEqual((await carol.get(`/api-keys?workspace_id=${team}`)).body.data, [])
  assert.equal((await bob.get(`/api-keys?workspace_id=${team}`)).body.data.length, 1)
  assert.equal((await carol.patch(`/api-keys/${key.keyId}`, { spend_cap_usd: 0 })).status, 404)
  assert.equal((await alice.patch(`/api-keys/${own.keyId}`, { spend_cap_usd: 0 })).status, 404)
  assert.equal((await alice.delete(`/api-keys/${own.keyId}`)).status, 404)

  const capped = await alice.patch(`/api-keys/${key.keyId}`, { spend_cap_usd: 0.000001, spend_cap_period: 'month' })
  assert.deepEqual([capped.status, capped.body.data.spend_cap_usd], [200, 0.000001])
  assert.equal((await ask()).body.error.code, 'spend_cap_reached')
  for (const refused of [
    await alice.patch(`/api-keys/${key.keyId}`, { scopes: ['*'] }),
    await alice.patch(`/api-keys/${key.keyId}`, { expires_at: null }),
    await alice.post(`/api-keys/${key.keyId}/rotate`, {}),
  ])
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_role'])
  assert.equal((await alice.delete(`/api-keys/${key.keyId}`)).status, 200)
  assert.equal((await ask()).body.error.code, 'revoked_api_key')
  const { rows } = await server.app.engine.postgres.pool.query(
    `select action from audit where subject_id = $1 and account_id = $2 order by id`,
    [key.keyId, alice.id],
  )
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['api_key.updated', 'api_key.revoked'],
  )
})
