import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { type Row, isOver, make, runIs } from '#test/automations/hooks.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

/** A provider that doesn't respond to model list requests. */
async function silentProvider() {
  const firstRequest = Promise.withResolvers<void>()
  const http = createServer(() => firstRequest.resolve())
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    base_url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    asked: firstRequest.promise,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.closeAllConnections()
        http.close(() => resolve())
      }),
  }
}

test('an owner’s silent provider delays only that owner’s automations, whose runs can be canceled meanwhile', async () => {
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8' } })
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { pool } = server.app.engine.postgres
  await pool.query(`update accounts set tier = 'unlimited'`)
  await using provider = await silentProvider()
  const { base_url } = provider
  const endpoint = { name: 'Slow', slug: 'slow', shape: 'openai-chat', base_url, api_key: 'hers', models: [] }
  const response = await alice.post('/ai-gateway/provider-endpoints', { ...endpoint, enabled: false })
  assert.equal(response.status, 201, response.text)
  const { id: agent_id } = (await alice.post('/agents', { name: 'Clerk' })).body.data
  const { id: chat_id } = (await alice.post('/chats', { agent_id })).body.data
  const yearly = { kind: 'cron', schedule: '0 0 1 1 *' }
  const hers: string[] = []
  // Runs in existing chats too, which start one by one.
  for (const chat of [null, null, chat_id])
    hers.push((await make(alice, { ...yearly, action: { type: 'agent', agent_id, chat_id: chat, prompt: 'x' } })).id)
  await pool.query(`update agents set model = 'slow/one' where id = $1`, [agent_id])
  const his = await make(bob, { kind: 'cron', schedule: '* * * * * *', overlap: 'allow' })
  assert.equal(
    (await alice.patch(`/ai-gateway/provider-endpoints/${response.body.data.id}`, { enabled: true, test: false }))
      .status,
    200,
  )
  await pool.query('update automations set next_fire_at = now() where id = any($1)', [hers])
  await provider.asked
  const from = Date.now()

  const runs = async (person: Person, id: string): Promise<Row[]> =>
    (await person.get(`/automations/${id}/runs?limit=100`)).body.data
  // Longer than the shared permission check, shorter than the wait for the provider.
  await sleep(2_000)
  for (const id of hers) {
    const [run] = await runs(alice, id)
    assert.equal(run!.status, 'queued')
    const cancelResponse = await alice.post(`/automations/${id}/runs/${run!.id}/cancel`)
    assert.deepEqual([cancelResponse.status, cancelResponse.body.data?.status], [200, 'cancelled'], cancelResponse.text)
  }
  await until(
    async () => (await runs(bob, his.id)).filter((run) => Date.parse(run.scheduled_for) >= from && run.started_at),
    ({ length }) => length >= 3,
  )
})

test('changing the action, schedule or budget of another member’s automation moves it to the caller, who needs its permissions', async () => {
  await using server = await testServer()
  const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  for (const person of [bob, carol]) {
    const invitation = await alice.post(`/workspaces/${team}/invitations`, { email: person.email, role: 'member' })
    await person.post('/invitations/accept', { token: invitation.body.data.token })
    await alice.post(`/admin/accounts/${person.id}/credits`, { amount_usd: 1 })
  }
  const agent_id = (await alice.post('/agents', { name: 'Clerk', model: 'sim/echo', workspace_id: team })).body.data.id
  const action = { type: 'agent', agent_id, prompt: 'Report.' }
  const elsewhere = (await bob.post('/chats', {})).body.data.id
  const newAutomation = { workspace_id: team, kind: 'cron', schedule: '0 0 1 1 *', action }
  const { id } = await make(bob, newAutomation)
  const at = `/automations/${id}`
  const astray = await bob.patch(at, { action: { ...action, chat_id: elsewhere } })
  assert.deepEqual([astray.status, astray.body.error.param], [400, 'action.chat_id'])
  const hasSpent = async (person: Person): Promise<boolean> => {
    await server.app.engine.ledger.flush()
    return (await person.get('/me/usage?view=history')).body.data.length > 0
  }
  const run = async (): Promise<string> => {
    const { body, text } = await alice.post(`${at}/test-fire`)
    const { status } = await runIs(alice, { id }, body.data?.id ?? text, isOver)
    return status
  }
  const narrow = await carol.key({ scopes: ['automation:write', 'agent:read'] })
  for (const change of [{ schedule: '0 0 2 1 *' }, { max_cost_usd: 1 }, { action }]) {
    const refusal = await narrow.patch(at, change)
    assert.deepEqual([refusal.status, refusal.body.error.code], [403, 'missing_scope'], JSON.stringify(change))
  }
  assert.equal((await narrow.patch(at, { name: 'Renamed', timeout_seconds: 600 })).status, 200)
  assert.equal(await run(), 'succeeded')
  assert.deepEqual([await hasSpent(bob), await hasSpent(carol)], [true, false])
  assert.equal((await carol.patch(at, { schedule: '0 0 3 1 *' })).status, 200)
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  assert.equal(await run(), 'succeeded')
  assert.deepEqual(await hasSpent(carol), true)
})
