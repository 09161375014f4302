import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { newId } from '#core/ids.ts'
import type { Db } from '../postgres/client.ts'
import { earlierMigrations, foldedMigrations, stoppedAt, tooOld } from '../postgres/earlier-migrations.ts'
import { migrateWithin, migrationNames } from '../postgres/migrate.ts'
import { ownNames } from '../postgres/own-names.ts'
import type { Database } from '../postgres/tables.ts'
import { FILLED_AT_START, inOrder, quoteIdentifier, tablesOf } from './database.ts'
import { BackupRefused } from './layout/refused.ts'
import type { Manifest } from './layout/manifest.ts'
import { linesOf, readPieces } from './layout/pieces.ts'
import type { Progress } from './progress.ts'
import type { Source } from './layout/source.ts'

export interface WaitingJob {
  task: string
  payload: unknown
  run_at: string
  max_attempts: number
  key: string | null
}

export function checkMigrations({ migrations, version }: Manifest): void {
  const migrationSet = new Set([...migrationNames(), ...earlierMigrations])
  const unknown = migrations.filter((name) => !migrationSet.has(name))
  if (unknown.length > 0)
    throw new BackupRefused(
      `this backup is from a newer Ukiyo (${version}, with ${unknown.at(-1)!}). Restore it with that version or a newer one`,
    )
  const stopped = stoppedAt(new Set(migrations))
  if (stopped !== null) throw new BackupRefused(`the database of this backup ${tooOld(stopped)}, and back it up again`)
}

/** The migrations to create a backup's tables. Folded migrations have all columns of the earlier ones, and more. */
const migrationsOf = ({ migrations }: Manifest): readonly string[] =>
  migrations.some((name) => earlierMigrations.includes(name)) ? foldedMigrations : migrations

export async function checkEmpty(client: pg.ClientBase, manifest: Manifest): Promise<boolean> {
  const migrations = migrationsOf(manifest)
  const tables = await tablesOf(client)
  if (!tables.some(({ name }) => name === 'migrations')) {
    const [other] = tables
    if (other)
      throw new BackupRefused(
        `this database contains the table "${other.name}" of another program. Use a separate database for Ukiyo`,
      )
    return false
  }
  for (const { name } of tables) {
    if (FILLED_AT_START.includes(name)) continue
    const { rows } = await client.query(`select exists (select from ${quoteIdentifier(name)}) as filled`)
    if (rows[0].filled)
      throw new BackupRefused(
        `the table "${name}" isn’t empty, and a restore doesn’t overwrite data. Restore into an empty UK_DATA_DIR or another database`,
      )
  }
  if (tables.some(({ name }) => name === 'processes')) {
    const { rows } = await client.query('select exists (select from processes where expires_at > now()) as alive')
    if (rows[0].alive)
      throw new BackupRefused('a server is running on this database, or was terminated a moment ago. Stop it first')
  }
  const appliedNames = (await client.query<{ name: string }>('select name from migrations')).rows.map(
    ({ name }) => name,
  )
  const same = appliedNames.length === migrations.length && appliedNames.every((name) => migrations.includes(name))
  if (!same)
    throw new BackupRefused(
      'this database was created by a different version of Ukiyo than the backup. Restore into a database that no server has used',
    )
  return true
}

export interface Afterwards {
  keepJob(job: WaitingJob): boolean
  settle(db: Db): Promise<void>
}

/**
 * Restores a database in one transaction: the old schema, its rows, newer migrations, then cleanup of interrupted work.
 * `places`: where blobs are stored now.
 */
export async function loadDatabase(
  client: pg.Client,
  source: Source,
  places: ReadonlyMap<string, string>,
  { keepJob, settle }: Afterwards,
  progress: Progress,
): Promise<void> {
  const { manifest } = source
  const size = manifest.tables.reduce((sum, { pieces }) => sum + pieces.reduce((all, { bytes }) => all + bytes, 0), 0)
  progress.begin('database', size)
  await client.query('begin')
  if (!(await checkEmpty(client, manifest))) await migrateWithin(client, migrationsOf(manifest))
  // Older backups include tables of other programs.
  const { tables: own } = ownNames()
  const tables = await inOrder(
    client,
    manifest.tables.filter(({ name }) => own.has(name)),
  )
  const ours = new Map((await tablesOf(client)).map(({ name, columns }) => [name, columns]))
  await client.query(
    `truncate ${FILLED_AT_START.filter((name) => name !== 'migrations')
      .map(quoteIdentifier)
      .join(', ')}`,
  )
  for (const { name } of tables) await client.query(`alter table ${quoteIdentifier(name)} disable trigger user`)
  for (const table of tables) {
    const strange = table.columns.find((column) => !ours.get(table.name)?.includes(column))
    if (strange !== undefined || !ours.has(table.name))
      throw new BackupRefused(`the table "${table.name}" of this backup is damaged`)
    await copyIn(client, source, table, progress)
  }
  for (const { name } of tables) await client.query(`alter table ${quoteIdentifier(name)} enable trigger user`)
  for (const { name, value, called } of manifest.sequences)
    await client.query(
      `select setval(c.oid::regclass, $2::bigint, $3) from pg_class c
        where c.relkind = 'S' and c.relname = $1 and c.relnamespace = current_schema()::regnamespace`,
      [name, value, called],
    )
  await placeBlobs(client, places)
  await migrateWithin(client, migrationNames())
  await addJobs(client, source, keepJob)
  await settle(within(client))
  // Clients must not reuse channel positions from another history.
  await client.query(`update instance set value = to_jsonb($1::text) where name = 'changes_epoch'`, [newId()])
  await client.query(
    `insert into instance (name, value) values ('restored', $1::jsonb) on conflict (name) do update set value = excluded.value`,
    [JSON.stringify({ at: new Date().toISOString(), of: manifest.at, version: manifest.version })],
  )
  await client.query('commit')
}

async function copyIn(
  client: pg.Client,
  source: Source,
  { name, columns, rows, pieces }: Manifest['tables'][number],
  progress: Progress,
): Promise<void> {
  const stream = client.query(
    copyFrom(`copy ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) from stdin`),
  )
  await pipeline(Readable.from(readPieces(source, pieces)), stream)
  for (const { bytes } of pieces) progress.add(bytes)
  if (stream.rowCount !== rows)
    throw new BackupRefused(`the table "${name}" of this backup has ${stream.rowCount} rows instead of ${rows}`)
}

async function placeBlobs(client: pg.Client, places: ReadonlyMap<string, string>): Promise<void> {
  await client.query(`update blobs set place = ''`)
  const all = [...places]
  for (let at = 0; at < all.length; at += 10_000) {
    const some = all.slice(at, at + 10_000)
    await client.query(
      'update blobs b set place = p.place, used_at = now() from unnest($1::bpchar[], $2::text[]) p(sha256, place) where b.sha256 = p.sha256',
      [some.map(([sha256]) => sha256), some.map(([, place]) => place)],
    )
  }
}

async function addJobs(client: pg.Client, source: Source, keepJob: Afterwards['keepJob']): Promise<void> {
  for await (const line of linesOf(source, source.manifest.jobs)) {
    if (line === '') continue
    const job = JSON.parse(Buffer.from(line, 'base64').toString('utf8')) as WaitingJob
    if (!keepJob(job)) continue
    await client.query(
      `select 1 from graphile_worker.add_job($1, $2::json, run_at => $3::timestamptz, max_attempts => $4::int, job_key => $5::text)`,
      [job.task, JSON.stringify(job.payload), job.run_at, job.max_attempts, job.key],
    )
  }
}

function within(client: pg.Client): Db {
  const one = { query: client.query.bind(client), release: () => {} }
  const pool = { connect: async () => one, end: async () => {}, options: {} }
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
}
