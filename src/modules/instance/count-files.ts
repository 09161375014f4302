import { sql } from 'kysely'
import { keepValue, valueOf } from '#infra/processes/instance.ts'
import type { Db } from '#infra/postgres/client.ts'

interface Files {
  files: number
  file_bytes: number
  counted_at: string
}

const FEW = 200_000
const GOOD_MS = 600_000

/** Counts the stored files: on every call up to `few`, else every ten minutes per process. */
export async function countFiles(db: Db, now: Date = new Date(), few: number = FEW): Promise<Files> {
  const { rows: about } = await sql<{ rows: number }>`
    select reltuples::float8 as rows from pg_class where oid = 'blobs'::regclass`.execute(db)
  const many = about[0]!.rows > few
  const kept = many ? ((await valueOf(db, 'files')) as Files | null) : null
  if (kept !== null && Math.abs(now.getTime() - Date.parse(kept.counted_at)) < GOOD_MS) return kept
  const { rows } = await sql<{ files: number; file_bytes: string }>`
    select count(*)::int as files, coalesce(sum(size_bytes), 0)::text as file_bytes from blobs`.execute(db)
  const { files, file_bytes } = rows[0]!
  const counted = { files, file_bytes: Number(file_bytes), counted_at: now.toISOString() }
  if (many) await keepValue(db, 'files', counted)
  return counted
}
