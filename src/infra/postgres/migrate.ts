import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { applyFunctions, ledgerFunctions } from './functions.ts'
import { earlierMigrations, replaceEarlier } from './earlier-migrations.ts'

const folder = join(import.meta.dirname, 'migrations')
// An arbitrary number, the same in every process: only one migrates at a time.
const LOCK = 7_520_201
const MIGRATIONS =
  'create table if not exists migrations (name text primary key, ran_at timestamptz not null default now())'

export const migrationNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => /^\d{4}_.+\.sql$/.test(name))
    .sort()

/**
 * Migrates to the newest schema: numbered SQL files, forward only, one transaction each, one process at a time; then
 * creates missing ledger functions. `upTo` stops earlier, for tests.
 */
export async function migrate(pool: pg.Pool, upTo?: string): Promise<string[]> {
  const client = await pool.connect()
  const ran: string[] = []
  try {
    await client.query('set statement_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(MIGRATIONS)
    const names = migrationNames()
    const appliedNames = new Set(
      (await client.query<{ name: string }>('select name from migrations')).rows.map((row) => row.name),
    )
    // Checked before any change, so the previous version still starts on a refused database.
    const unknown = [...appliedNames]
      .filter((name) => !names.includes(name) && !earlierMigrations.includes(name))
      .sort()
    if (unknown.length > 0) throw new NewerDatabase(unknown.at(-1)!)
    await inTransaction(client, () => replaceEarlier(client, appliedNames))
    for (const name of names) {
      if (appliedNames.has(name)) continue
      if (upTo !== undefined && name > upTo) break
      await inTransaction(client, async () => {
        await client.query(readFileSync(join(folder, name), 'utf8'))
        await client.query('insert into migrations (name) values ($1)', [name])
      })
      ran.push(name)
    }
    if (upTo === undefined) await inTransaction(client, () => applyFunctions(client, ledgerFunctions))
    return ran
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => {})
    await client.query('reset statement_timeout').catch(() => {})
    client.release()
  }
}

/**
 * Runs missing migrations among these in the caller's transaction: a restore creates its backup's tables, fills them,
 * and then runs newer migrations. The next start creates functions.
 */
export async function migrateWithin(client: pg.ClientBase, names: readonly string[]): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [LOCK])
  await client.query(MIGRATIONS)
  const appliedNames = (await client.query<{ name: string }>('select name from migrations')).rows.map((row) => row.name)
  for (const name of migrationNames()) {
    if (!names.includes(name) || appliedNames.includes(name)) continue
    await client.query(readFileSync(join(folder, name), 'utf8'))
    await client.query('insert into migrations (name) values ($1)', [name])
  }
}

async function inTransaction(client: pg.PoolClient, work: () => Promise<unknown>): Promise<void> {
  await client.query('begin')
  try {
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

export class NewerDatabase extends Error {
  constructor(name: string) {
    super(`the database has the migration ${name}, which this version doesn’t know. Start a newer version of Ukiyo`)
  }
}
