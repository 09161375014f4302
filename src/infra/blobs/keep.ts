import { type Generated, sql } from 'kysely'
import type { Db, Postgres } from '../postgres/client.ts'
import type { Blobs, Range, StagedBlob } from './blobs.ts'

declare module '../postgres/tables.ts' {
  interface Database {
    blobs: BlobTable
  }
}
interface BlobTable {
  sha256: string
  size_bytes: bigint
  place: string
  used_at: Generated<Date>
}

/**
 * Keeps staged bytes within the transaction that will reference them. Locks the row of their hash until then, so the
 * sweep can't delete them in between. Equal bytes are stored once. A row without a place is being deleted by a sweep.
 */
export async function keepBlob(ctx: { db: Db }, stagedBlob: StagedBlob): Promise<void> {
  const { rows } = await sql<{ place: string }>`insert into blobs (sha256, size_bytes, place)
    values (${stagedBlob.sha256}, ${String(stagedBlob.size)}, '') on conflict (sha256) do update set used_at = now()
    returning place`.execute(ctx.db)
  if (rows[0]!.place !== '') return stagedBlob.discard()
  const place = await stagedBlob.keep()
  await ctx.db.updateTable('blobs').set({ place }).where('sha256', '=', stagedBlob.sha256).execute()
}

/**
 * Protects existing blobs from the sweep until the caller's rows are written. Returns those that exist. Locks in hash
 * order, to avoid deadlocks.
 */
export async function lockBlobs(db: Db, hashes: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ sha256: string }>`with held as materialized (
      select sha256 from blobs where sha256 = any(${hashes}::bpchar[]) and place <> '' order by sha256 for update)
    update blobs b set used_at = now() from held where b.sha256 = held.sha256 returning b.sha256`.execute(db)
  return new Set(rows.map(({ sha256 }) => sha256))
}

export async function* readBlob(
  { blobs, postgres }: { blobs: Blobs; postgres: Postgres },
  sha256: string,
  range: Range & { reuse?: boolean } = {},
): AsyncGenerator<Uint8Array> {
  const row = await postgres.db
    .selectFrom('blobs')
    .select('place')
    .where('sha256', '=', sha256)
    .executeTakeFirstOrThrow()
  yield* blobs.read(row.place, range)
}

export async function wholeBlob(engine: Parameters<typeof readBlob>[0], sha256: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of readBlob(engine, sha256)) parts.push(part)
  return parts.length === 1
    ? Buffer.from(parts[0]!.buffer, parts[0]!.byteOffset, parts[0]!.byteLength)
    : Buffer.concat(parts)
}
