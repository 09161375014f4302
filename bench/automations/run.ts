/**
 * Automations that are all due in the same second: how long until each has its run, how fast the runs are started, and
 * whether any was run twice or lost. Then operations one after the other, from the moment they are accepted to the moment
 * that they begin.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startTestPostgres } from '../../test/database.ts'
import { type Ours, startOurs } from '../measure/ours.ts'
import { median } from '../measure/process.ts'
import type { Report } from '../report.ts'

export interface Scale {
  automations: number
  operations: number
}
const FULL: Scale = { automations: 10_000, operations: 500 }

/** The time from the last insert to the second in which all are due. */
const AHEAD_MS = 3_000
const PATIENCE_MS = 300_000

export async function automations(scale: Scale = FULL): Promise<Report> {
  const postgres = await startTestPostgres()
  const connection = { ...postgres.connection, database: 'ukiyo_template' }
  const { user, password, host, port, database } = connection
  const url = `postgres://${user}:${password as string}@localhost:${port}/${database}?host=${encodeURIComponent(host!)}`
  const client = new pg.Client(connection)
  try {
    await using ours = await startOurs({ DATABASE_URL: url, UK_LOG: 'error', UK_LIMIT_INFERENCE: '0' })
    await client.connect()
    const rows = [
      { name: 'one second', ...(await oneSecond(ours, client, scale.automations)) },
      { name: 'pick-up', ...(await pickUp(ours, client, scale.operations)) },
    ]
    return { name: 'automations', rows, table: table(rows) }
  } finally {
    await client.end()
    await postgres.stop()
  }
}

interface OneSecond {
  automations: number
  admittedSeconds: number
  startedSeconds: number
  startedPerSecond: number
  succeeded: number
  twice: number
  lost: number
  cpuMsPerRun: number
}

async function oneSecond(ours: Ours, client: pg.Client, count: number): Promise<OneSecond> {
  const due = new Date(Math.ceil((Date.now() + AHEAD_MS) / 1000) * 1000)
  await fill(ours, client, count, due)
  const before = ours.server.cpuSeconds()
  const until = Date.now() + PATIENCE_MS
  for (let over = 0; over < count && Date.now() < until; await sleep(500)) {
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from automation_runs where status not in ('queued', 'running')`,
    )
    over = rows[0]!.n
  }
  const { rows } = await client.query<{
    rows: number
    automations: number
    started: number
    succeeded: number
    admitted: number
    first: number
    last: number
  }>(
    `select count(*)::int as rows, count(distinct automation_id)::int as automations,
      count(started_at)::int as started, count(*) filter (where status = 'succeeded')::int as succeeded,
      extract(epoch from max(created_at) - $1)::float8 as admitted,
      extract(epoch from min(started_at) - $1)::float8 as first, extract(epoch from max(started_at) - $1)::float8 as last
      from automation_runs`,
    [due],
  )
  const of = rows[0]!
  const chats = await client.query<{ n: number }>(
    `select count(*)::int as n from (select automation_run_id from runs where automation_run_id is not null
      group by 1 having count(*) > 1) twice`,
  )
  return {
    automations: count,
    admittedSeconds: of.admitted,
    startedSeconds: of.last,
    startedPerSecond: of.started / (of.last - of.first),
    succeeded: of.succeeded,
    twice: of.rows - of.automations + chats.rows[0]!.n,
    lost: count - of.started,
    cpuMsPerRun: ((ours.server.cpuSeconds() - before) / count) * 1000,
  }
}

async function fill(ours: Ours, client: pg.Client, count: number, due: Date): Promise<void> {
  const agent = await post(ours, '/agents', { name: 'Clerk', model: 'sim/echo' })
  const { rows } = await client.query<{ id: string; workspace: string }>(
    'select id, personal_workspace_id as workspace from accounts',
  )
  const { id: account, workspace } = rows[0]!
  const id = `'01KA' || lpad(i::text, 22, '0')`
  await client.query('begin')
  await client.query(
    `insert into resources (id, kind, workspace_id, created_by)
      select ${id}, 'automation', $1, $2 from generate_series(1, ${count}) i`,
    [workspace, account],
  )
  await client.query(
    `insert into automations (id, name, kind, schedule, time_zone, action, overlap, catch_up, catch_up_window_seconds,
        timeout_seconds, account_id, next_fire_at)
      select ${id}, 'Automation ' || i, 'cron', '0 0 1 1 *', 'UTC', $1, 'skip', 'latest', 86400, 3600, $2, $3
      from generate_series(1, ${count}) i`,
    [{ type: 'agent', agent_id: agent.id, chat_id: null, prompt: 'Report the news.' }, account, due],
  )
  await client.query('commit')
  await client.query('vacuum analyze resources, automations')
}

interface PickUp {
  operations: number
  p50Ms: number
  p99Ms: number
}

async function pickUp(ours: Ours, client: pg.Client, count: number): Promise<PickUp> {
  for (let i = 0; i < count; i++)
    await post(ours, '/inference/text', {
      model: 'sim/echo',
      messages: [{ role: 'user', content: 'hello' }],
      background: true,
    })
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    const { rows } = await client.query<{ waited: number | null }>(
      `select extract(epoch from started_at - created_at)::float8 * 1000 as waited from operations order by 1`,
    )
    const waited = rows.map((row) => row.waited).filter((ms) => ms !== null)
    if (waited.length >= count || Date.now() > until)
      return {
        operations: waited.length,
        p50Ms: median(waited),
        p99Ms: waited[Math.floor(waited.length * 0.99)] ?? NaN,
      }
    await sleep(100)
  }
}

async function post({ origin, key }: Ours, path: string, body: object): Promise<{ id: string }> {
  const response = await fetch(`${origin}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { data: { id: string } }).data
}

export function table(raw: Record<string, unknown>[]): string {
  const fired = raw.find(({ name }) => name === 'one second') as unknown as OneSecond
  const picked = raw.find(({ name }) => name === 'pick-up') as unknown as PickUp
  return [
    '| | is | goal |',
    '|---|--:|--:|',
    `| ${fired.automations} automations due in one second, all admitted after | ${fired.admittedSeconds.toFixed(2)} s | ≤ 5 s |`,
    `| their runs, started a second | ${fired.startedPerSecond.toFixed(0)} | ≥ 300 |`,
    `| run twice | ${fired.twice} | 0 |`,
    `| lost | ${fired.lost} | 0 |`,
    `| CPU of the server per run | ${fired.cpuMsPerRun.toFixed(1)} ms | – |`,
    `| an operation, accepted to begun, p50 of ${picked.operations} | ${picked.p50Ms.toFixed(1)} ms | ≤ 8 ms |`,
    `| the same, p99 | ${picked.p99Ms.toFixed(1)} ms | – |`,
  ].join('\n')
}
