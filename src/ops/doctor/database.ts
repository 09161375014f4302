import type pg from 'pg'
import { type Reason, reasonWords } from '#modules/ai-gateway/connections/connection-state.ts'
import { allSealed } from '#modules/sealed.ts'
import type { Config } from '#config'
import { earlierMigrations } from '#infra/postgres/earlier-migrations.ts'
import { migrationNames } from '#infra/postgres/migrate.ts'
import { sizeWords } from '../report.ts'
import { type CheckResult, ageWords, fail, off, ok, plural, warn } from './check.ts'

export async function checkDatabase(client: pg.ClientBase, { databaseUrl }: Config): Promise<CheckResult> {
  const { rows } = await client.query<{ version: string; size: string; used: number; most: number }>(
    `select current_setting('server_version') as version, pg_database_size(current_database())::text as size,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
      current_setting('max_connections')::int as most`,
  )
  const { version, size, used, most } = rows[0]!
  const words = `PostgreSQL ${version.split(' ')[0]}, ${databaseUrl === null ? 'embedded' : 'from DATABASE_URL'}, ${sizeWords(Number(size))}`
  if (Number.parseInt(version, 10) < 15) return fail(`${words}.`, 'Ukiyo needs PostgreSQL 15 or newer.')
  if (used > most * 0.9) return warn(`${words}. ${used} of ${most} connections are in use.`, 'Raise max_connections.')
  return ok(`${words}.`)
}

export async function checkSchema(client: pg.ClientBase): Promise<CheckResult> {
  const { rows: there } = await client.query(`select to_regclass('migrations') is not null as there`)
  if (!there[0].there) return off('The database is empty.', 'Start the server once to create the tables.')
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const done = new Set(rows.map(({ name }) => name))
  const names = migrationNames()
  const strange = [...done].filter((name) => !names.includes(name) && !earlierMigrations.includes(name)).toSorted()
  if (strange.length > 0)
    return fail(`The database was upgraded by a newer version of Ukiyo (${strange.at(-1)}).`, 'Run that version.')
  const missing = names.filter((name) => !done.has(name))
  if (missing.length > 0)
    return warn(
      `${plural(missing.length, 'migration')} of this version ${missing.length === 1 ? "hasn't" : "haven't"} run yet, starting with ${missing[0]}.`,
      'Back up, then start the server to run them.',
    )
  return ok(`All ${names.length} migrations have run.`)
}

const MAX_DRIFT_MS = 2_000

export async function checkClock(client: pg.ClientBase): Promise<CheckResult> {
  const before = Date.now()
  const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now')
  const drift = rows[0]!.now.getTime() - (before + Date.now()) / 2
  const words = `This machine's clock and the database's clock differ by ${Math.abs(Math.round(drift))} ms.`
  return Math.abs(drift) > MAX_DRIFT_MS ? fail(words, 'Synchronize both with NTP.') : ok(words)
}

export async function checkServers(client: pg.ClientBase): Promise<CheckResult> {
  const { rows } = await client.query<{ n: number }>(
    'select count(*)::int as n from processes where expires_at > now()',
  )
  const { n } = rows[0]!
  return n === 0
    ? off('No server is running.', 'Start it with `npm start`.')
    : ok(`${plural(n, 'server process is', 'server processes are')} running.`)
}

const LATE_SECONDS = 300

export async function checkJobs(client: pg.ClientBase): Promise<CheckResult> {
  const { rows: there } = await client.query(`select to_regclass('graphile_worker._private_jobs') is not null as there`)
  if (!there[0].there) return ok('No background jobs yet.')
  const { rows } = await client.query<{ failed: number; late: number; alive: boolean }>(
    `select count(*) filter (where attempts >= max_attempts)::int as failed,
      count(*) filter (where attempts < max_attempts and locked_at is null and run_at < now() - make_interval(secs => $1))::int as late,
      exists (select from processes where expires_at > now()) as alive
    from graphile_worker._private_jobs`,
    [LATE_SECONDS],
  )
  const { failed, late, alive } = rows[0]!
  if (late > 0 && alive)
    return warn(`${plural(late, 'job')} should have started five minutes ago.`, 'Check the server log.')
  if (failed > 0) return warn(`${plural(failed, 'job')} failed permanently in the last day.`, 'Check the server log.')
  return ok('Background jobs run on time.')
}

export async function sealedWith(client: pg.ClientBase): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { table, columns } of allSealed)
    for (const column of columns) {
      const { rows } = await client.query<{ id: string; n: number }>(
        `select split_part(left(${column}, 64), ':', 2) as id, count(*)::int as n from ${table} where ${column} is not null group by 1`,
      )
      for (const { id, n } of rows) counts.set(id, (counts.get(id) ?? 0) + n)
    }
  return counts
}

/** Providers users have added. Those from environment variables are only counted. */
export async function checkProviders(client: pg.ClientBase, { environment }: Config): Promise<CheckResult> {
  const keys = Object.keys(environment).filter((name) => name.endsWith('_API_KEY') && environment[name])
  const { rows } = await client.query<{ n: number }>('select count(*)::int as n from provider_endpoints where enabled')
  const endpoints = rows[0]!.n
  const failing = await failingProviders(client)
  if (failing.length > 0)
    return warn(
      `${plural(failing.length, 'provider is', 'providers are')} failing: ${failing.slice(0, 5).join('; ')}.`,
      'Run `uk ai-gateway list`, then test one with `uk ai-gateway test <id>`.',
    )
  if (endpoints + keys.length === 0)
    return off(
      'No provider is set up.',
      'Add one in the app, with `uk ai-gateway create`, or with a variable such as OPENAI_API_KEY.',
    )
  return ok(`${plural(endpoints, 'provider')} added, ${plural(keys.length, 'provider key')} in the environment.`)
}

/** Providers known to fail, and those whose calls all failed in the last hour. */
async function failingProviders(client: pg.ClientBase): Promise<string[]> {
  const connections = await failingConnections(client)
  const calls = await failedCalls(client)
  const further = calls.filter(({ name }) => !connections.some((one) => one.name === name))
  return [...connections, ...further].map(({ name, words }) => `${name} (${words})`)
}

interface Failing {
  name: string
  words: string
}

/** Connections marked as failing; none if an older schema has no such table. */
async function failingConnections(client: pg.ClientBase): Promise<Failing[]> {
  const { rows: there } = await client.query(`select to_regclass('provider_connections') is not null as there`)
  if (!there[0].there) return []
  const { rows } = await client.query<{ name: string; reason: Reason | null }>(
    `select p.name, c.reason from provider_endpoints p join provider_connections c on c.id = p.connection
    where p.enabled and c.status = 'failing' order by p.name`,
  )
  return rows.map(({ name, reason }) => ({
    name,
    words: reasonWords(reason)?.replace(/^It /, '').replace(/\.$/, '') ?? 'failing',
  }))
}

async function failedCalls(client: pg.ClientBase): Promise<Failing[]> {
  const { rows } = await client.query<Failing>(
    `select p.name, count(*) || ' calls failed' as words
    from calls c join provider_endpoints p on p.id = c.endpoint_id
    where c.id >= $1 and p.enabled group by p.id, p.name
    having bool_and(c.status = 'failed') and count(*) >= 3`,
    [firstIdSince(Date.now() - 3_600_000)],
  )
  return rows
}

function firstIdSince(ms: number): string {
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  let head = ''
  for (let rest = ms, i = 0; i < 10; i += 1, rest = Math.floor(rest / 32)) head = digits[rest % 32]! + head
  return `${head}0000000000000000`
}

const OLD_MS = 2 * 86_400_000

export async function checkBackups(client: pg.ClientBase): Promise<CheckResult> {
  const advice = 'Schedule `uk backup --to <folder> --keep 14` every night.'
  const { rows } = await client.query<{ at: string; where: string }>(
    `select value ->> 'at' as at, value ->> 'where' as where from instance where name = 'backup'`,
  )
  const [last] = rows
  if (last === undefined) return warn('No backup yet.', advice)
  const age = Date.now() - Date.parse(last.at)
  const words = `The last backup is ${ageWords(age)} old: ${last.where}.`
  return age > OLD_MS ? warn(words, advice) : ok(words)
}
