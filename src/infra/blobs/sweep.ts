import { sql } from 'kysely'
import type { Db, Postgres } from '../postgres/client.ts'
import type { Blobs } from './blobs.ts'
import { mayRemoveBlobs } from './hold.ts'

/** All columns that reference blobs. Add new ones here; until then their foreign key prevents wrong deletions. */
const referrers = [
  ['file_versions', 'sha256'],
  ['files', 'sha256'],
  ['thumbnails', 'thumbnail'],
  ['computer_snapshots', 'sha256'],
  ['media_job_inputs', 'sha256'],
] as const
const conditions = sql.join(
  referrers.map(
    ([table, column]) => sql`not exists (select from ${sql.table(table)} t where t.${sql.ref(column)} = b.sha256)`,
  ),
  sql` and `,
)

export interface SweepMore {
  /** Recently unreferenced bytes may be about to be referenced again. */
  graceMinutes?: number
  /** Recently written bytes may not have a row yet. S3 dates an object by the start of its upload. */
  strayMinutes?: number
  signal?: AbortSignal
}

const BATCH = 500

export async function sweepBlobs(
  { postgres: { db }, blobs }: { postgres: Postgres; blobs: Blobs },
  { graceMinutes = 60, strayMinutes = 1_440, signal }: SweepMore = {},
): Promise<{ unreferenced: number; stray: number }> {
  const counts = { unreferenced: 0, stray: 0 }
  for (let after = ''; ;) {
    if (signal?.aborted) return counts
    const { rows } = await sql<{ sha256: string }>`select b.sha256 from blobs b
      where b.sha256 > ${after} and b.used_at < now() - make_interval(mins => ${graceMinutes}) and ${conditions}
      order by b.sha256 limit ${BATCH}`.execute(db)
    for (const { sha256 } of rows) counts.unreferenced += await dropBlob(db, blobs, sha256, graceMinutes)
    if (rows.length < BATCH) break
    after = rows.at(-1)!.sha256
  }
  for await (const places of batches(blobs, Date.now() - strayMinutes * 60_000)) {
    if (signal?.aborted) break
    for (const place of await unknownOf(db, places))
      counts.stray += await db.transaction().execute((db) => dropStray(db, blobs, place))
  }
  return counts
}

/**
 * First clears the row's place: if the process dies now, the next writer of the same bytes stores a new copy. Then
 * deletes the bytes while the row is locked, so that writers wait.
 */
async function dropBlob(db: Db, blobs: Blobs, sha256: string, graceMinutes: number): Promise<number> {
  const candidate = await db.transaction().execute(async (db) => {
    if (!(await mayRemoveBlobs(db))) return undefined
    const { rows } = await sql<{ place: string }>`with held as (
        select b.sha256, b.place from blobs b where b.sha256 = ${sha256}
          and b.used_at < now() - make_interval(mins => ${graceMinutes}) and ${conditions} for update)
      update blobs b set place = '' from held where b.sha256 = held.sha256 returning held.place`.execute(db)
    return rows[0]
  })
  if (candidate === undefined) return 0
  // A backup that starts now sees a row without a place and skips it.
  return await db.transaction().execute(async (db) => {
    const deletion =
      await sql`delete from blobs b where b.sha256 = ${sha256} and b.place = '' and ${conditions}`.execute(db)
    if (deletion.numAffectedRows !== 1n) return 0
    if (candidate.place !== '') await blobs.remove(candidate.place)
    return 1
  })
}

/** The inserted row blocks other writers of the same bytes where the place derives from the hash. */
async function dropStray(db: Db, blobs: Blobs, place: string): Promise<number> {
  const sha256 = /[0-9a-f]{64}$/.exec(place)?.[0]
  if (sha256 !== undefined) {
    const { numAffectedRows } = await sql`insert into blobs (sha256, size_bytes, place)
      values (${sha256}, 0, ${place}) on conflict do nothing`.execute(db)
    if (numAffectedRows === 0n) return 0
  }
  await blobs.remove(place)
  if (sha256 !== undefined) await db.deleteFrom('blobs').where('sha256', '=', sha256).execute()
  return 1
}

async function* batches(blobs: Blobs, before: number): AsyncGenerator<string[]> {
  let places: string[] = []
  for await (const { place, modifiedAt } of blobs.list()) {
    if (modifiedAt.getTime() <= before) places.push(place)
    if (places.length < BATCH) continue
    yield places
    places = []
  }
  if (places.length > 0) yield places
}

async function unknownOf(db: Db, places: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ place: string }>`select p.place from unnest(${places}::text[]) p(place)
    where not exists (select from blobs b where b.place = p.place)
      and not exists (select from upload_parts u where u.place = p.place)`.execute(db)
  return rows.map(({ place }) => place)
}
