// Slow: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type Made, type Row, failing, fire, isOver, isRunning, make, runIs, slow } from '#test/automations/hooks.ts'
import { deliver } from '#test/automations/senders.ts'
import { testDatabase } from '#test/database.ts'
import { type Answer, type TestServer, testRootKey, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { tendRuns } from './runs/outcomes.ts'
import { fireDue } from './worker.ts'

const fireSigned = (server: TestServer, hook: Made, webhookId: string): Promise<Answer> =>
  deliver(server.origin, hook, webhookId)

const isPaid = (run: Row): boolean => isOver(run) && run.cost_usd !== null

test('each rotated secret stays valid for its overlap, and a rotation without overlap revokes all of them', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const first = await make(alice, { overlap: 'allow' })
  const rotate = async (overlap_seconds: number): Promise<Made> =>
    (await alice.post(`/automations/${first.id}/rotate-secret`, { overlap_seconds })).body.data
  const second = await rotate(3_600)
  const third = await rotate(3_600)
  for (const [i, webhook] of [first, second, third].entries()) {
    assert.equal((await fire(server, { ...webhook, id: first.id })).status, 202, `the token of rotation ${i}`)
    assert.equal((await fireSigned(server, { ...webhook, id: first.id }, `msg_${i}`)).status, 202, `the secret of ${i}`)
  }
  const last = await rotate(0)
  for (const webhook of [first, second, third]) assert.equal((await fire(server, webhook)).status, 401)
  assert.equal((await fire(server, last)).status, 202)
})

test('queued runs of an archived automation don’t start and can’t be retried; archived workspaces accept no webhooks', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, { overlap: 'queue' }, 'sim/script', slow)
  const first = (await fire(server, hook)).body.data
  const second = (await fire(server, hook)).body.data
  assert.equal(second.status, 'queued')
  await alice.post(`/automations/${hook.id}/archive`)
  await alice.post(`/automations/${hook.id}/runs/${first.id}/cancel`)
  const waitingRun = await runIs(alice, hook, second.id, ({ status }) => status !== 'queued')
  assert.deepEqual([waitingRun.status, waitingRun.skip_reason, waitingRun.chat_id], ['skipped', 'archived', null])
  const again = await alice.post(`/automations/${hook.id}/runs/${first.id}/retry`)
  assert.deepEqual([again.status, again.body.error?.code], [409, 'invalid_state'], again.text)

  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const there = await make(alice, { workspace_id: team })
  await alice.post(`/workspaces/${team}/archive`)
  const refusal = await fire(server, there)
  assert.deepEqual([refusal.status, refusal.body.error?.code], [409, 'invalid_state'], refusal.text)
})

test('a retried run costs the sum of both attempts', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, {}, 'sim/script', failing)
  const { id } = (await fire(server, hook)).body.data
  const once = await runIs(alice, hook, id, isPaid)
  assert.equal(once.status, 'failed')
  assert.ok(once.cost_usd > 0)
  await alice.post(`/automations/${hook.id}/runs/${id}/retry`)
  const twice = await runIs(alice, hook, id, (run) => run.attempt === 2 && isPaid(run))
  assert.ok(Math.abs(twice.cost_usd - 2 * once.cost_usd) < 1e-12, `${twice.cost_usd} of ${once.cost_usd} each`)
  assert.equal((await alice.get(`/automations/${hook.id}/cost-stats`)).body.data.cost_usd, twice.cost_usd)
})

test('ticks that are due when the schedule changes are reported', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const cron = await make(alice, { kind: 'cron', schedule: '0 * * * *', catch_up: 'none' })
  const { db } = server.app.engine.postgres
  await sql`update automations set next_fire_at = date_trunc('hour', now()) - interval '5 hours' where id = ${cron.id}`.execute(
    db,
  )
  const updateResponse = await alice.patch(`/automations/${cron.id}`, { schedule: '0 0 1 1 *' })
  assert.equal(updateResponse.status, 200, updateResponse.text)
  const rows = (await alice.get(`/automations/${cron.id}/runs`)).body.data
  assert.equal(rows.length, 6, 'the five missed and that of this hour')
})

test('a stop that a dead process had started is finished by the others', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { engine } = server.app
  const hook = await make(alice, { overlap: 'queue' }, 'sim/script', slow)
  const first = (await fire(server, hook)).body.data
  await fire(server, hook)
  await runIs(alice, hook, first.id, isRunning)
  await alice.patch(`/automations/${hook.id}`, { overlap: 'cancel_previous' })
  await tendRuns(engine)
  assert.equal((await runIs(alice, hook, first.id, (run) => run.status !== 'running')).status, 'cancelled')

  const other = await make(alice, {}, 'sim/script', slow)
  const run = (await fire(server, other)).body.data
  const { chat_id, run_id } = await runIs(alice, other, run.id, isRunning)
  await sql`update automation_runs set status = 'cancelled', completed_at = now() where id = ${run.id}`.execute(
    engine.postgres.db,
  )
  await tendRuns(engine)
  assert.equal((await alice.get(`/chats/${chat_id}/runs/${run_id}`)).body.data.status, 'cancelled')
})

test('rotating another member’s secret requires the permissions of its action; repeated invalid deliveries are rate limited', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_INFERENCE: '20' } })
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })).body
    .data
  await bob.post('/invitations/accept', { token })
  const hook = await make(alice, { workspace_id: team })
  const permissions = ['automation:read', 'automation:write', 'agent:read']
  await alice.patch(`/workspaces/${team}/members/${bob.id}`, { permissions })
  assert.equal((await bob.post(`/automations/${hook.id}/rotate-secret`, {})).status, 403)

  const wrong = { ...hook, token: `ukw_${'0'.repeat(43)}` }
  assert.equal((await fire(server, wrong)).status, 401)
  const refusal = await until(
    () => fire(server, wrong),
    ({ status }) => status !== 401,
  )
  assert.deepEqual([refusal.status, refusal.body.error.type], [429, 'rate_limited'])
  assert.ok(Number(refusal.headers.get('retry-after')) >= 1)
})

test('a tick without funds is skipped for its budget and doesn’t count as a failure', async () => {
  await using server = await testServer({ environment: { UK_SIGN_UP_CREDITS_USD: '0' } })
  await server.person('Admin')
  const bob = await server.person('Bob')
  const cron = await make(bob, { kind: 'cron', schedule: '0 0 1 1 *' })
  const { engine } = server.app
  await sql`update automations set next_fire_at = now() where id = ${cron.id}`.execute(engine.postgres.db)
  await fireDue(engine)
  const rows = await until<Row[]>(
    async () => (await bob.get(`/automations/${cron.id}/runs`)).body.data,
    (all) => all.some(({ completed_at }) => completed_at !== null),
  )
  assert.deepEqual(
    rows.map(({ status, skip_reason, error }) => [status, skip_reason, error?.code]),
    [['skipped', 'budget', 'insufficient_credits']],
  )
  assert.equal((await bob.get(`/automations/${cron.id}/cost-stats`)).body.data.failed, 0)
})

test('a rotated root key can be removed: webhook secrets were resealed', async () => {
  await using database = await testDatabase()
  const newest = 'a newer root key of the tests, 32 characters'
  let hook: Made
  let former: Made
  {
    await using server = await testServer({ database })
    const alice = await server.person('Alice')
    former = await make(alice, { overlap: 'allow' })
    hook = (await alice.post(`/automations/${former.id}/rotate-secret`, {})).body.data
    const target = { name: 'Out', url: 'https://example.com/hook', events: ['chat.created'] }
    assert.equal((await alice.post('/webhook-endpoints', target)).status, 201)
    assert.equal((await alice.get('/notifications/push-key')).status, 200)
  }
  {
    await using rotating = await testServer({ database, rootKeys: [newest, testRootKey] })
    const { postgres, secrets } = rotating.app.engine
    const readSealed = async () => {
      const { rows } = await sql<{ sealed: string }>`select sealed_secret as sealed from automations
        union all select sealed_secret from automation_secrets union all select secret from webhook_endpoints
        union all select value->>'private_key' from instance where name = 'vapid'`.execute(postgres.db)
      assert.equal(rows.length, 4)
      return rows
    }
    await until(readSealed, (rows) => !rows.some((row) => secrets.isStale(row.sealed)))
  }
  await using rotatedServer = await testServer({ database, rootKeys: [newest] })
  assert.equal((await fireSigned(rotatedServer, hook, 'msg_1')).status, 202)
  assert.equal((await fireSigned(rotatedServer, { ...former, id: hook.id }, 'msg_2')).status, 202)
})
