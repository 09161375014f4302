import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { type Row, make } from '#test/automations/hooks.ts'
import { copyAutomation } from '#test/automations/copies.ts'
import { type Caller, type Person, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const MAX = 1_000
const yearly = { kind: 'cron', schedule: '0 0 1 1 *' }

const countOf = async (pool: pg.Pool, { id }: Person): Promise<number> =>
  (await pool.query<{ n: number }>('select count(*)::int as n from automations where account_id = $1', [id])).rows[0]!.n

test('50 concurrent creations on two servers stop at 1,000 automations per account; deleting one frees a slot, and taking one over requires one', async () => {
  await using server = await testServer()
  await using second = await server.twin()
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { pool } = server.app.engine.postgres
  const first = await make(alice, yearly)
  await copyAutomation(pool, first.id, MAX - 30)
  const { key } = await alice.key()
  const at: Caller[] = [server, second].map(({ origin }) => caller(origin, { authorization: `Bearer ${key}` }))
  const { action } = (await alice.get(`/automations/${first.id}`)).body.data
  const create = (by: Caller) => by.post('/automations', { name: 'Report', ...yearly, action })
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => create(at[i % 2]!)))
  const refusals = answers.filter(({ status }) => status !== 201)
  assert.equal(answers.length - refusals.length, 29)
  for (const { status, body } of refusals)
    assert.deepEqual([status, body.error.code, body.error.details], [409, 'limit_reached', { limit: MAX }])
  assert.equal(await countOf(pool, alice), MAX)

  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  await pool.query(
    `insert into members (id, workspace_id, account_id, role) select '01KC0000000000000000000000', $1, $2, 'member'`,
    [team, bob.id],
  )
  await until(
    () => bob.get(`/workspaces/${team}`),
    ({ status }) => status === 200,
  )
  const hook = await make(bob, { workspace_id: team })
  const takeover = await alice.patch(`/automations/${hook.id}`, { max_cost_usd: 1 })
  assert.deepEqual([takeover.status, takeover.body.error?.code], [409, 'limit_reached'], takeover.text)
  const rotation = await alice.post(`/automations/${hook.id}/rotate-secret`)
  assert.deepEqual([rotation.status, rotation.body.error?.code], [409, 'limit_reached'], rotation.text)
  assert.equal((await create(alice)).status, 409)
  assert.equal((await alice.delete(`/automations/${first.id}`)).status, 200)
  assert.equal((await alice.patch(`/automations/${hook.id}`, { max_cost_usd: 1 })).status, 200, 'there is room again')
  assert.equal((await create(alice)).status, 409)
})

test('two servers share the per-minute limit of scheduled starts: further ticks are reported, and other accounts aren’t affected', async () => {
  const environment = { UK_LIMIT_INFERENCE: '60' }
  await using server = await testServer({ environment })
  await using _second = await server.twin(environment)
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const { pool } = server.app.engine.postgres
  const many = await make(alice, yearly)
  await copyAutomation(pool, many.id, 199)
  await pool.query(`update accounts set tier = 'unlimited'`)
  const began = performance.now()
  await pool.query(`update automations set next_fire_at = date_trunc('milliseconds', clock_timestamp())`)
  const bobs = await make(bob, yearly)
  await pool.query(
    `update automations set next_fire_at = date_trunc('milliseconds', clock_timestamp()) where id = $1`,
    [bobs.id],
  )
  const rows = await until(
    async () => (await pool.query<Row>('select * from automation_runs')).rows,
    (rows) => rows.length >= 201 && rows.every(({ status }) => status !== 'queued' && status !== 'running'),
  )
  const seconds = Math.ceil((performance.now() - began) / 1_000)
  const alices = rows.filter(({ automation_id }) => automation_id !== bobs.id)
  const ran = alices.filter(({ skip_reason }) => skip_reason === null).length
  assert.ok(ran >= 60 && ran <= 60 + seconds, `${ran} of 200 began in ${seconds} s`)
  assert.ok(alices.every(({ skip_reason }) => skip_reason === null || skip_reason === 'rate_limited'))
  assert.equal(rows.find(({ automation_id }) => automation_id === bobs.id)!.skip_reason, null)
  const skippedRuns = (await alice.get(`/automations/runs?workspace_id=${alice.workspaceId}&status=skipped&limit=1`))
    .body
  assert.equal(skippedRuns.data[0].skip_reason, 'rate_limited')
})
