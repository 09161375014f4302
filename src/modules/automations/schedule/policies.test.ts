import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createLog } from '#infra/log.ts'
import { type Row, fire, isOver, isRunning, make, runIs, slow } from '#test/automations/hooks.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS } from '#test/until.ts'
import { automationSchedules } from '../service.ts'
import { fireDue } from '../worker.ts'

const HOUR = 3_600_000

/** Simulates a server restart 3.5 hours after the automation's next tick. */
async function comeBack({ app: { engine } }: TestServer, alice: Person, { id }: { id: string }): Promise<Row[]> {
  const { next_run_at } = (await alice.get(`/automations/${id}`)).body.data
  const now = new Date(Date.parse(next_run_at) + 3.5 * HOUR)
  while (await fireDue(engine, now));
  const rows: Row[] = (await alice.get(`/automations/${id}/runs?limit=100`)).body.data
  return rows
    .toReversed()
    .map((row) => ({ ...row, at: (Date.parse(row.scheduled_for) - Date.parse(next_run_at)) / HOUR }))
}

test('of four missed ticks all, the latest or none run, within the window; the others are reported as missed', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const back = async (more: object): Promise<[number, string | null][]> => {
    const cron = await make(alice, { kind: 'cron', schedule: '0 * * * *', overlap: 'allow', ...more })
    const rows = await comeBack(server, alice, cron)
    for (const { id, skip_reason } of rows)
      if (skip_reason === null) assert.equal((await runIs(alice, cron, id, isOver)).status, 'succeeded')
    return rows.map(({ at, skip_reason }) => [at, skip_reason])
  }
  const missed = 'missed'
  assert.deepEqual(await back({ catch_up: 'all' }), [
    [0, null],
    [1, null],
    [2, null],
    [3, null],
  ])
  assert.deepEqual(await back({ catch_up: 'all', catch_up_window_seconds: 7_200 }), [
    [0, missed],
    [1, missed],
    [2, null],
    [3, null],
  ])
  assert.deepEqual(
    await back({}),
    [
      [0, missed],
      [1, missed],
      [2, missed],
      [3, null],
    ],
    'the latest unless asked otherwise',
  )
  assert.deepEqual(await back({ catch_up_window_seconds: 600 }), [
    [0, missed],
    [1, missed],
    [2, missed],
    [3, missed],
  ])
  assert.deepEqual(await back({ catch_up: 'none' }), [
    [0, missed],
    [1, missed],
    [2, missed],
    [3, missed],
  ])
})

test('automations in an archived workspace don’t fire and their ticks are reported; the schedule uses its own time zone', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { id: team } = (await alice.post('/workspaces', { name: 'Team' })).body.data
  const daily = { kind: 'cron', schedule: '30 9 * * *', workspace_id: team }
  const cron = await make(alice, { ...daily, time_zone: 'Asia/Kathmandu' })
  assert.match((await alice.get(`/automations/${cron.id}`)).body.data.next_run_at, /T03:45:00\.000Z$/)
  const updateResponse = await alice.patch(`/automations/${cron.id}`, {
    time_zone: 'Asia/Tokyo',
    schedule: '0 * * * *',
  })
  assert.match(updateResponse.body.data.next_run_at, /:00:00\.000Z$/)
  await alice.post(`/workspaces/${team}/archive`)
  const rows = await comeBack(server, alice, cron)
  assert.deepEqual(
    rows.map(({ status, skip_reason }) => [status, skip_reason]),
    Array.from({ length: 4 }, () => ['skipped', 'archived']),
  )
})

test('an automation with an unreadable schedule stops firing, and the others continue', async () => {
  await using server = await testServer({ log: createLog('silent') })
  const alice = await server.person('Alice')
  const yearly = { kind: 'cron', schedule: '0 0 1 1 *' }
  const [unreadableAutomation, other] = [await make(alice, yearly), await make(alice, yearly)]
  await sql`update automations set next_fire_at = now(), time_zone = case when id = ${unreadableAutomation.id} then 'Mars/Base' else time_zone end`.execute(
    server.app.engine.postgres.db,
  )
  for (let rows: Row[] = []; !rows.some(({ status }) => status === 'succeeded');)
    rows = (await alice.get(`/automations/${other.id}/runs`)).body.data
  assert.deepEqual((await alice.get(`/automations/${unreadableAutomation.id}/runs`)).body.data, [])
  const fixResponse = await alice.patch(`/automations/${unreadableAutomation.id}`, { time_zone: 'Europe/Berlin' })
  assert.match(fixResponse.body.data.next_run_at, /-12-31T23:00:00\.000Z$/)
})

test('runs that may overlap run in parallel; otherwise up to 100 are queued and further ones are skipped', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const both = await make(alice, { overlap: 'allow' }, 'sim/script', slow)
  const ids = [(await fire(server, both)).body.data.id, (await fire(server, both)).body.data.id]
  for (const id of ids) await runIs(alice, both, id, isRunning)
  assert.equal((await alice.get(`/automations/${both.id}/runs?status=running`)).body.data.length, 2)

  const queue = await make(alice, { overlap: 'queue' }, 'sim/script', slow)
  await runIs(alice, queue, (await fire(server, queue)).body.data.id, isRunning)
  await sql`insert into automation_runs (id, automation_id, workspace_id, status, trigger)
    select '01KB' || lpad(i::text, 22, '0'), ${queue.id}, ${alice.workspaceId}, 'queued', 'test' from generate_series(1, 98) i`.execute(
    server.app.engine.postgres.db,
  )
  const last = await fire(server, queue)
  assert.deepEqual([last.status, last.body.data.status], [202, 'queued'])
  const more = await fire(server, queue)
  assert.deepEqual([more.status, more.body.data.status, more.body.data.skip_reason], [202, 'skipped', 'overlap'])
  for (const { id } of [both, queue]) assert.equal((await alice.delete(`/automations/${id}`)).status, 200)
})

test('a run stays within its automation’s budget, and succeeds when retried with a larger one', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const hook = await make(alice, { max_cost_usd: 0.000001 }, 'sim/echo', 'word '.repeat(50))
  const { id } = (await fire(server, hook)).body.data
  const poor = await runIs(alice, hook, id, isOver)
  assert.deepEqual([poor.status, poor.error.code], ['failed', 'budget_reached'])
  assert.equal((await alice.patch(`/automations/${hook.id}`, { max_cost_usd: 1 })).status, 200)
  assert.equal((await alice.post(`/automations/${hook.id}/runs/${id}/retry`)).status, 202)
  const rich = await runIs(alice, hook, id, (run) => run.attempt === 2 && isOver(run))
  assert.deepEqual([rich.status, rich.error], ['succeeded', null])
  const { average_cost_usd, last_30_days_usd, cost_usd, runs } = (await alice.get(`/automations/${hook.id}/cost-stats`))
    .body.data
  assert.deepEqual([runs, average_cost_usd, last_30_days_usd], [1, cost_usd, cost_usd])
  assert.ok(cost_usd > 0)
})

test('skipped ticks are kept for a month, runs for a year, and active runs until they end', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const cron = await make(alice, { kind: 'cron', schedule: '0 0 1 1 *' })
  const { engine } = server.app
  const rows = [
    ['skipped', 29],
    ['skipped', 31],
    ['succeeded', 364],
    ['failed', 367],
    ['running', 400],
  ] as const
  for (const [i, [status, days]] of rows.entries())
    await sql`insert into automation_runs (id, automation_id, workspace_id, status, skip_reason, trigger, created_at, completed_at)
      values (${`01KB${String(i).padStart(22, '0')}`}, ${cron.id}, ${alice.workspaceId}, ${status},
        ${status === 'skipped' ? 'missed' : null}, 'test', now() - make_interval(days => ${days}),
        ${status === 'running' ? null : sql`now()`})`.execute(engine.postgres.db)
  const retain = automationSchedules(engine).find(({ name }) => name === 'automations.retain')!
  await retain.run({ signal: AbortSignal.timeout(PATIENCE_MS) })
  const remainingRuns: Row[] = (await alice.get(`/automations/${cron.id}/runs`)).body.data
  assert.deepEqual(remainingRuns.map(({ id }) => Number(id.slice(4))).toSorted(), [0, 2, 4])
})
