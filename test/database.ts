import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import { migrate } from '#infra/postgres/migrate.ts'
import { startPostgres } from '#infra/postgres/embedded/supervisor.ts'
import { roomForRun } from './room.ts'

/** A separate migrated database with a data directory. */
export interface TestDatabase extends AsyncDisposable {
  connection: pg.PoolConfig
  dataDir: string
}

/**
 * The PostgreSQL of a test run: shared by all files if `test/run.ts` set `UKIYO_TEST_POSTGRES`, otherwise one per
 * process. Databases are copied from a migrated template, which takes about 50 ms.
 */
let server: ReturnType<typeof startTestPostgres> | undefined
let inUse = 0
let idle: NodeJS.Timeout | undefined
const TEMPLATE = 'ukiyo_template'
/** Hooks run in creation order, so the server stops a moment after its last database was dropped. */
const IDLE_MS = 150
/** These databases are temporary. Crash safety is tested with separate PostgreSQL servers. */
const UNSAFE = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', autovacuum: 'off' }
/** Makes PostgreSQL log refused statements, for `refuseIdsComparedAsText`. */
const VERBOSE = { log_min_messages: 'error', log_min_error_statement: 'error' }

export async function testDatabase(like?: TestDatabase): Promise<TestDatabase> {
  inUse += 1
  clearTimeout(idle)
  const connection = await serverConnection()
  const database = `t_${randomBytes(6).toString('hex')}`
  await admin(connection, (client) =>
    client.query(`create database ${database} template ${like?.connection.database ?? TEMPLATE} strategy file_copy`),
  )
  const dataDir = mkdtempSync(join(tmpdir(), 'ukiyo-test-'))
  return {
    connection: { ...connection, database },
    dataDir,
    async [Symbol.asyncDispose]() {
      await admin(connection, (client) => client.query(`drop database if exists ${database} with (force)`))
      rmSync(dataDir, { recursive: true, force: true })
      inUse -= 1
      if (inUse === 0) idle = setTimeout(() => void stopIdle(), IDLE_MS)
    },
  }
}

export async function bareDatabase(): Promise<TestDatabase> {
  const database = await testDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname in ('public', 'graphile_worker') or nspname like 'ledger\\_%'`,
  )
  for (const { name } of rows) await client.query(`drop schema ${name} cascade`)
  await client.query('create schema public')
  await client.end()
  return database
}

export function databaseUrl({ connection: { user, password, host, port, database } }: TestDatabase): string {
  const url = new URL('postgresql://localhost')
  url.username = String(user)
  url.password = String(password)
  url.pathname = `/${database}`
  url.searchParams.set('host', String(host))
  if (port !== undefined) url.searchParams.set('port', String(port))
  return url.href
}

async function serverConnection(): Promise<pg.PoolConfig> {
  const sharedUrl = process.env.UKIYO_TEST_POSTGRES
  if (sharedUrl !== undefined) return JSON.parse(sharedUrl) as pg.PoolConfig
  server ??= startTestPostgres()
  return (await server).connection
}

async function stopIdle(): Promise<void> {
  const stopping = server
  server = undefined
  await (await stopping)?.stop()
}

export async function startTestPostgres(): Promise<{ connection: pg.PoolConfig; stop: () => Promise<void> }> {
  await using stack = new AsyncDisposableStack()
  const dataDir = mkdtempSync(join(roomForRun(), 'ukiyo-postgres-'))
  stack.defer(() => rmSync(dataDir, { recursive: true, force: true }))
  const comparisons: string[] = []
  let isComparison = false
  const log = (line: string): void => {
    if (isComparison && line.includes('STATEMENT:') && !line.includes('on purpose')) comparisons.push(line)
    isComparison = line.includes('operator is only a shell') || (isComparison && !line.includes('STATEMENT:'))
  }
  const { connection } = stack.use(await startPostgres({ dataDir, log, settings: { ...UNSAFE, ...VERBOSE } }))
  await admin(connection, async (client) => {
    // Both sides would compute 4,096 rounds per connection, and there are thousands of connections.
    await client.query('set scram_iterations = 1')
    await client.query(`alter role ${connection.user} password '${connection.password}'`)
    await client.query(`create database ${TEMPLATE}`)
  })
  const pool = new pg.Pool({ ...connection, database: TEMPLATE, max: 2 })
  try {
    await migrate(pool)
    // Creates the job tables once, instead of in every server.
    pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
    await runMigrations({ pgPool: pool })
    await refuseIdsComparedAsText(pool)
  } finally {
    await pool.end()
  }
  const running = stack.move()
  return {
    connection,
    async stop() {
      await running.disposeAsync()
      // Also covers jobs, whose failures tests don't see.
      if (comparisons.length > 0)
        throw new Error(`IDs were compared as text, which reads whole tables:\n${[...new Set(comparisons)].join('\n')}`)
    },
  }
}

/**
 * Fails every test with a statement that compares an ID column (`ulid`, a `char(26)`) with `text`. PostgreSQL would
 * cast the column and scan the whole table, because its index has IDs. An operator without a function is refused at
 * parse time, so neither rows nor a plan are needed: `operator is only a shell`. Cast the other side: `id =
 * any(${ids}::ulid[])`.
 */
async function refuseIdsComparedAsText(pool: pg.Pool): Promise<void> {
  for (const operator of ['=', '<>', '<', '<=', '>', '>='])
    for (const [left, right] of [
      ['bpchar', 'text'],
      ['text', 'bpchar'],
    ])
      await pool.query(`
        create function public.never(${right}, ${left}) returns boolean language sql immutable return false;
        create operator public.~~~~ (leftarg = ${right}, rightarg = ${left}, function = public.never, commutator = operator(public.${operator}));
        drop operator public.~~~~ (${right}, ${left});
        drop function public.never(${right}, ${left})`)
}

async function admin(connection: pg.PoolConfig, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ ...(connection as pg.ClientConfig), database: 'postgres' })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
