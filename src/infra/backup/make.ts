import { Readable } from 'node:stream'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { type Blobs, BlobMissing } from '../blobs/blobs.ts'
import { holdBlobs } from '../blobs/hold.ts'
import { eachAtOnce } from './at-once.ts'
import { LEFT_OUT, quoteIdentifier, sequencesOf, tablesOf } from './database.ts'
import { BackupRefused } from './layout/refused.ts'
import { FORMAT, type Manifest, type Piece, writeManifest } from './layout/manifest.ts'
import { writePieces } from './layout/pieces.ts'
import type { Progress } from './progress.ts'
import { placeIn } from './layout/places.ts'
import { keepNewest } from './prune.ts'
import { earlierMigrations } from '../postgres/earlier-migrations.ts'
import { migrationNames } from '../postgres/migrate.ts'
import { ownNames } from '../postgres/own-names.ts'
import { type Target, WrongBytes, isFolder, openTarget } from './layout/target.ts'

export interface BackupOptions {
  connection: pg.ClientConfig
  blobs: Blobs
  version: string
  key: Manifest['key']
  signWith: string | null
  /** Columns with sealed values, to count those unreadable without the key. */
  sealed: readonly { table: string; columns: readonly string[] }[]
}

export interface BackupResult {
  manifest: Manifest
  where: string
  removed: number
  leftOut: string[]
}

const HOLD_MS = 20_000

/**
 * Backs up a running instance: a consistent snapshot of the database, then every referenced blob, then the manifest.
 * Meanwhile, blobs aren't deleted and other backups don't run: it would treat this one's unfinished files as leftovers
 * and its new blobs as unreferenced. `keep`: the number of this instance's backups to keep; null keeps all.
 */
export async function makeBackup(
  { connection, blobs, version, key, signWith, sealed }: BackupOptions,
  { to, keep, at }: { to: string; keep: number | null; at: Date },
  progress: Progress,
): Promise<BackupResult> {
  const client = new pg.Client({
    ...connection,
    application_name: 'ukiyo backup',
    statement_timeout: 0,
    keepAlive: true,
  })
  // A broken connection fails its statement; an unhandled event would crash the process.
  client.on('error', () => {})
  await client.connect()
  try {
    if (!(await holdBlobs(client, HOLD_MS))) throw new BackupRefused('another backup of this instance is in progress')
    const instance = await instanceOf(client)
    const place = isFolder(to) ? await placeIn(to, instance) : to
    await using target = await openTarget(place, at)
    // Lossless formats for times and floats regardless of server settings. The connection idles while blobs are copied,
    // and its lock protects them, so it must not time out.
    await client.query(
      `set idle_session_timeout = 0; set idle_in_transaction_session_timeout = 0; set datestyle = 'ISO, YMD'; set intervalstyle = postgres; set timezone = 'UTC'; set extra_float_digits = 1`,
    )
    await client.query('begin isolation level repeatable read read only')
    const { leftOut, ...database } = await copyDatabase(client, target, sealed, progress)
    const namedBlobs = await blobsOf(client)
    await client.query('commit')
    const lists = await writePieces(target, 'files', Readable.from(listOf(namedBlobs)), 'list')
    const missing = await copyBlobs(blobs, namedBlobs, target, progress)
    const manifest: Manifest = {
      format: FORMAT,
      product: 'ukiyo',
      version,
      instance,
      at: at.toISOString(),
      ...database,
      blobs: { count: namedBlobs.length, bytes: namedBlobs.reduce((sum, { size }) => sum + size, 0), lists, missing },
      key,
    }
    const where = await target.finish(writeManifest(manifest, signWith))
    return { manifest, where, removed: keep === null ? 0 : await keepNewest(place, keep, instance), leftOut }
  } finally {
    await client.end().catch(() => {})
  }
}

async function instanceOf(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(`select value #>> '{}' as id from instance where name = 'id'`)
  return rows[0]?.id ?? null
}

type DatabaseContents = Pick<Manifest, 'migrations' | 'tables' | 'sequences' | 'jobs' | 'sealed_values'> &
  Pick<BackupResult, 'leftOut'>

async function copyDatabase(
  client: pg.Client,
  target: Target,
  sealed: BackupOptions['sealed'],
  progress: Progress,
): Promise<DatabaseContents> {
  const { rows: size } = await client.query<{ bytes: string }>(
    'select pg_database_size(current_database())::text as bytes',
  )
  progress.begin('database', Number(size[0]!.bytes))
  const migrations = (await client.query<{ name: string }>('select name from migrations order by name')).rows
  checkKnown(migrations.map(({ name }) => name))
  const own = ownNames()
  const tables: Manifest['tables'] = []
  const leftOut: string[] = []
  for (const { name, columns } of await tablesOf(client)) {
    if (LEFT_OUT.includes(name) || name === 'migrations') continue
    if (!own.tables.has(name)) {
      leftOut.push(name)
      continue
    }
    const stream = client.query(
      copyTo(`copy ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) to stdout`),
    )
    const pieces = await writePieces(target, `database/${name}`, countBytes(stream, progress))
    tables.push({ name, columns, rows: (stream as { rowCount?: number }).rowCount ?? 0, pieces })
  }
  return {
    migrations: migrations.map(({ name }) => name),
    tables,
    sequences: (await sequencesOf(client))
      .filter(({ name, table }) => (table === null ? own.sequences.has(name) : own.tables.has(table)))
      .map(({ name, value, called }) => ({ name, value, called })),
    jobs: await copyJobs(client, target),
    sealed_values: await countSealed(client, sealed),
    leftOut,
  }
}

/** Throws if the database has migrations unknown to this version: their tables would be taken for another program's. */
function checkKnown(migrations: readonly string[]): void {
  const migrationSet = new Set(migrationNames())
  const unknown = migrations.find((name) => !migrationSet.has(name) && !earlierMigrations.includes(name))
  if (unknown !== undefined)
    throw new BackupRefused(`this database was migrated by a newer Ukiyo (${unknown}). Use that version to back it up`)
}

/** Copies waiting jobs except housekeeping, which every start schedules. */
async function copyJobs(client: pg.Client, target: Target): Promise<Piece[]> {
  const { rows: queue } = await client.query(`select to_regclass('graphile_worker._private_jobs') is not null as there`)
  if (!queue[0].there) return []
  const stream = client.query(
    copyTo(`copy (select replace(encode(convert_to(json_build_object('task', t.identifier, 'payload', j.payload,
        'run_at', j.run_at, 'max_attempts', j.max_attempts, 'key', j.key)::text, 'UTF8'), 'base64'), E'\\n', '')
      from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
      where (j.key is null or j.key not like 'every:%') and j.attempts < j.max_attempts order by j.id) to stdout`),
  )
  return writePieces(target, 'jobs', stream, 'lines')
}

async function countSealed(client: pg.Client, sealed: BackupOptions['sealed']): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { table, columns } of sealed)
    for (const column of columns) {
      const { rows } = await client.query<{ n: number }>(
        `select count(*)::int as n from ${quoteIdentifier(table)} where ${quoteIdentifier(column)} is not null`,
      )
      if (rows[0]!.n > 0) counts[`${table}.${column}`] = rows[0]!.n
    }
  return counts
}

/** Blobs referenced in the snapshot. Blobs without a place were being deleted and are unreferenced. */
interface NamedBlob {
  sha256: string
  size: number
  place: string
}

async function blobsOf(client: pg.Client): Promise<NamedBlob[]> {
  const { rows } = await client.query<{ sha256: string; size: string; place: string }>(
    `select sha256, size_bytes::text as size, place from blobs where place <> '' order by sha256`,
  )
  return rows.map((row) => ({ ...row, size: Number(row.size) }))
}

function* listOf(namedBlobs: readonly NamedBlob[]): Generator<Buffer> {
  for (let at = 0; at < namedBlobs.length; at += 1_000)
    yield Buffer.from(
      namedBlobs
        .slice(at, at + 1_000)
        .map(({ sha256, size }) => `${sha256} ${size}\n`)
        .join(''),
    )
}

/** Returns hashes of missing or damaged blobs. The rest is worth keeping. */
async function copyBlobs(
  blobs: Blobs,
  namedBlobs: readonly NamedBlob[],
  target: Target,
  progress: Progress,
): Promise<string[]> {
  progress.begin(
    'files',
    namedBlobs.reduce((sum, { size }) => sum + size, 0),
  )
  const missing: string[] = []
  await eachAtOnce(namedBlobs, target.atOnce, async ({ sha256, size, place }) => {
    if (await target.hasBlob(sha256, size)) return progress.add(size)
    try {
      await target.putBlob(sha256, size, countBytes(blobs.read(place, { reuse: true }), progress))
    } catch (error) {
      if (!(error instanceof BlobMissing) && !(error instanceof WrongBytes)) throw error
      missing.push(sha256)
    }
  })
  return missing.toSorted()
}

async function* countBytes(source: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const part of source) {
    progress.add(part.length)
    yield part
  }
}
