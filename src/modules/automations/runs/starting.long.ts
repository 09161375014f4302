import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import pg from 'pg'
import { signUp, startServer } from '#test/automations/senders.ts'
import { testDatabase } from '#test/database.ts'
import { temporaryDir } from '#test/program.ts'
import { caller } from '#test/server.ts'

const MANY = 2_000
const KILLS = 3

test('2,000 automations due in one second each run once on two processes while one is killed repeatedly', async (t) => {
  await using database = await testDatabase()
  const { user, password, host, port, database: name } = database.connection
  const url = `postgres://${user}:${password as string}@localhost:${port}/${name}?host=${encodeURIComponent(host!)}`
  const pool = new pg.Pool({ ...database.connection, max: 2 })
  // Dropping the database breaks its idle connections.
  pool.on('error', () => {})
  await using _pool = { [Symbol.asyncDispose]: () => pool.end() }
  using dirs = new DisposableStack()
  const start = () => startServer({ DATABASE_URL: url, UK_DATA_DIR: dirs.use(temporaryDir()).path })
  await using steady = await start()
  let other = await start()
  const { key } = await signUp(steady.origin)
  const alice = caller(steady.origin, { authorization: `Bearer ${key}` })
  const agent = await alice.post('/agents', { name: 'Clerk', model: 'sim/echo' })
  const action = { type: 'agent', agent_id: agent.body.data.id, prompt: 'Report the news.' }
  const response = await alice.post('/automations', { name: 'News', kind: 'cron', schedule: '0 0 1 1 *', action })
  const fresh = `'01KB' || lpad(i::text, 22, '0')`
  await pool.query(
    `insert into resources (id, kind, workspace_id, created_by)
      select ${fresh}, kind, workspace_id, created_by from resources, generate_series(1, $2::int) i where id = $1`,
    [response.body.data.id, MANY],
  )
  await pool.query(
    `insert into automations (id, name, kind, schedule, time_zone, action, overlap, catch_up, catch_up_window_seconds,
        timeout_seconds, account_id, next_fire_at)
      select ${fresh}, name, kind, schedule, time_zone, action, overlap, catch_up, catch_up_window_seconds, timeout_seconds,
        account_id, date_trunc('milliseconds', now()) from automations, generate_series(1, $2::int) i where id = $1`,
    [response.body.data.id, MANY],
  )
  const count = async (what: string): Promise<number> =>
    (await pool.query<{ n: number }>(`select count(*)::int as n from automation_runs where ${what}`)).rows[0]!.n
  for (let i = 1; i <= KILLS; i++) {
    while ((await count('started_at is not null')) < (MANY * i) / (KILLS + 2)) await sleep(5)
    other.child.kill('SIGKILL')
    await other.exited
    other = await start()
  }
  for (let i = 0; (await count(`status in ('queued', 'running')`)) > 0 || (await count('true')) < MANY; i++) {
    assert.ok(i < 1_200, 'every run has ended')
    await sleep(100)
  }
  const { rows } = await pool.query<{ status: string; n: number }>(
    'select status, count(*)::int as n from automation_runs group by 1',
  )
  const { rows: chats } = await pool.query<{ runs: number; adopted: number; most: number }>(
    `select count(*)::int as runs, count(*) filter (where adoptions > 0)::int as adopted,
      (select max(n)::int from (select count(*) as n from runs group by automation_run_id) x) as most from runs`,
  )
  t.diagnostic(JSON.stringify({ kills: KILLS, over: rows, ...chats[0] }))
  assert.deepEqual([chats[0]!.runs, chats[0]!.most, await count('true')], [MANY, 1, MANY])
  const ran = rows.filter(({ status }) => status === 'succeeded' || status === 'failed')
  assert.equal(
    ran.reduce((sum, { n }) => sum + n, 0),
    MANY,
  )
  // A partly streamed run of a killed process fails as interrupted.
  const { rows: failures } = await pool.query<{ code: string }>(
    `select distinct error ->> 'code' as code from automation_runs where status = 'failed'`,
  )
  assert.ok(failures.every(({ code }) => code === 'interrupted'))
  await other[Symbol.asyncDispose]()
})
