import type pg from 'pg'
import { type Reason, reasonWords } from '#modules/ai-gateway/connections/connection-state.ts'
import { allSealed } from '#modules/sealed.ts'
import type { Config } from '#config'
import { earlierMigrations } from '#infra/postgres/earlier-migrations.ts'
import { migrationNames } from '#infra/postgres/migrate.ts'
import { sizeWords } from '../report.ts'
import { type Found, ageWords, fail, off, ok, plural, warn } from './check.ts'

/** Checks that ask the database. */

export async function checkDatabase(client: pg.ClientBase, { databaseUrl }: Config): Promise<Found> {
  const { rows } = await client.query<{ version: string; size: string; used: number; most: number }>(
    `select current_setting('server_version') as version, pg_database_size(current_database())::text as size,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
      current_setting('max_connections')::int as most`,
  )
  const { version, size, used, most } = rows[0]!
  const words = `PostgreSQL ${version.split(' ')[0]}, ${databaseUrl === null ? 'embedded' : 'of DATABASE_URL'}, ${sizeWords(Number(size))}`
  if (Number.parseInt(version, 10) < 15) return fail(`${words}.`, 'Ukiyo needs PostgreSQL 15 or newer.')
  if (used > most * 0.9)
    return warn(`${words}; ${used} of its ${most} connections are taken.`, 'Raise its max_connections.')
  return ok(`${words}.`)
}

/** Whether there are tables to look into, and whether this program made all of them. */
export async function checkSchema(client: pg.ClientBase): Promise<Found> {
  const { rows: there } = await client.query(`select to_regclass('migrations') is not null as there`)
  if (!there[0].there) return off('The database is empty.', 'The first start of the server makes its tables.')
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  const done = new Set(rows.map(({ name }) => name))
  const known = migrationNames()
  const strange = [...done].filter((name) => !known.includes(name) && !earlierMigrations.includes(name)).toSorted()
  if (strange.length > 0)
    return fail(`The database was brought further by a newer Ukiyo (${strange.at(-1)}).`, 'Start that version.')
  const missing = known.filter((name) => !done.has(name))
  if (missing.length > 0)
    return warn(
      `${plural(missing.length, 'migration')} of this version have not run, from ${missing[0]} on.`,
      'The next start runs them: back up first.',
    )
  return ok(`All ${known.length} migrations have run.`)
}

const MOST_DRIFT_MS = 2_000

export async function checkClock(client: pg.ClientBase): Promise<Found> {
  const before = Date.now()
  const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now')
  const drift = rows[0]!.now.getTime() - (before + Date.now()) / 2
  const words = `The clocks of this machine and of its database are ${Math.abs(Math.round(drift))} ms apart.`
  return Math.abs(drift) > MOST_DRIFT_MS ? fail(words, 'Let both follow a time server (NTP).') : ok(words)
}

export async function checkServers(client: pg.ClientBase): Promise<Found> {
  const { rows } = await client.query<{ n: number }>(
    'select count(*)::int as n from processes where expires_at > now()',
  )
  const { n } = rows[0]!
  return n === 0
    ? off('No server is running on this database.', 'Start it with `npm start`.')
    : ok(`${plural(n, 'server process is', 'server processes are')} running.`)
}

const LATE_SECONDS = 300

export async function checkJobs(client: pg.ClientBase): Promise<Found> {
  const { rows: there } = await client.query(`select to_regclass('graphile_worker._private_jobs') is not null as there`)
  if (!there[0].there) return ok('No work was queued yet.')
  const { rows } = await client.query<{ failed: number; late: number; alive: boolean }>(
    `select count(*) filter (where attempts >= max_attempts)::int as failed,
      count(*) filter (where attempts < max_attempts and locked_at is null and run_at < now() - make_interval(secs => $1))::int as late,
      exists (select from processes where expires_at > now()) as alive
    from graphile_worker._private_jobs`,
    [LATE_SECONDS],
  )
  const { failed, late, alive } = rows[0]!
  if (late > 0 && alive)
    return warn(`${plural(late, 'job')} should have been begun five minutes ago.`, 'Look at the log of the server.')
  if (failed > 0)
    return warn(`${plural(failed, 'job')} failed for good, of a day or less.`, 'Look at the log of the server.')
  return ok('Background work is done in time.')
}

/** The number of values that each root key has sealed, by the names of the keys. */
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

/** Providers that somebody set up; those of the environment say by their variables that they are there. */
export async function checkProviders(client: pg.ClientBase, { environment }: Config): Promise<Found> {
  const keys = Object.keys(environment).filter((name) => name.endsWith('_API_KEY') && environment[name])
  const { rows } = await client.query<{ n: number }>('select count(*)::int as n from provider_endpoints where enabled')
  const endpoints = rows[0]!.n
  const failing = await failingProviders(client)
  if (failing.length > 0)
    return warn(
      `${plural(failing.length, 'provider')} did not answer as it should: ${failing.slice(0, 5).join('; ')}.`,
      '`uk ai-gateway list` shows them; test one with `uk ai-gateway test <id>`.',
    )
  if (endpoints + keys.length === 0)
    return off(
      'No provider is set up.',
      'Add one at /app, with `uk ai-gateway create`, or by OPENAI_API_KEY and the like.',
    )
  return ok(
    `${plural(endpoints, 'provider was', 'providers were')} added by people, ${plural(keys.length, 'API key')} in the environment.`,
  )
}

/** Endpoints that are known to fail, and those whose calls of the last hour all failed, by name. */
async function failingProviders(client: pg.ClientBase): Promise<string[]> {
  const known = await failingConnections(client)
  const called = await failedCalls(client)
  const further = called.filter(({ name }) => !known.some((one) => one.name === name))
  return [...known, ...further].map(({ name, words }) => `${name} (${words})`)
}

interface Failing {
  name: string
  words: string
}

/** Connections that calls and tests have found failing; none where the tables of an older version do not tell. */
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

/** The least ULID of a moment. */
function firstIdSince(ms: number): string {
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  let head = ''
  for (let left = ms, i = 0; i < 10; i += 1, left = Math.floor(left / 32)) head = digits[left % 32]! + head
  return `${head}0000000000000000`
}

const OLD_MS = 2 * 86_400_000

/** Checks the age of the last finished backup, which `uk backup` remembers. */
export async function checkBackups(client: pg.ClientBase): Promise<Found> {
  const advice = 'Let `uk backup --to <folder> --keep 14` run every night.'
  const { rows } = await client.query<{ at: string; where: string }>(
    `select value ->> 'at' as at, value ->> 'where' as where from instance where name = 'backup'`,
  )
  const [last] = rows
  if (last === undefined) return warn('No backup was made yet.', advice)
  const age = Date.now() - Date.parse(last.at)
  const words = `The last backup is ${ageWords(age)} old: ${last.where}.`
  return age > OLD_MS ? warn(words, advice) : ok(words)
}
