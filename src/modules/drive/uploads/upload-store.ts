import { type Generated, type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { OnConflict } from '../tree/write.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    uploads: UploadTable
    upload_parts: UploadPartTable
  }
}

interface UploadTable {
  id: Id
  account_id: Id
  workspace_id: Id
  parent_id: Id | null
  name: string
  mime_type: string | null
  on_conflict: OnConflict
  length_bytes: bigint | null
  offset_bytes: Generated<bigint>
  file_id: Id | null
  metadata: string | null
  expires_at: Date
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type UploadRow = Selectable<UploadTable>

interface UploadPartTable {
  upload_id: Id
  start_bytes: bigint
  size_bytes: bigint
  place: string
}
export interface Part {
  place: string
  size: number
}

const int8 = (value: number) => sql<bigint>`${String(value)}::int8`

export const uploadStore = {
  get: (db: Db, id: Id): Promise<UploadRow | undefined> =>
    db.selectFrom('uploads').selectAll().where('id', '=', id).executeTakeFirst(),

  async open(db: Db, accountId: Id): Promise<number> {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from uploads
      where account_id = ${accountId} and file_id is null`.execute(db)
    return rows[0]!.n
  },

  insert: (
    db: Db,
    { length_bytes, ...row }: Omit<UploadRow, 'offset_bytes' | 'file_id' | 'created_at' | 'updated_at'>,
  ): Promise<UploadRow> =>
    db
      .insertInto('uploads')
      .values({ ...row, length_bytes: length_bytes === null ? null : int8(Number(length_bytes)), file_id: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  /** Returns the effective length: the first one set, or null if more bytes have arrived. */
  async setLength(db: Db, id: Id, length: number): Promise<number | null> {
    const { rows } = await sql<{
      length_bytes: bigint
    }>`update uploads set length_bytes = coalesce(length_bytes, ${String(length)}::int8)
      where id = ${id} and offset_bytes <= ${String(length)}::int8 returning length_bytes`.execute(db)
    return rows[0] === undefined ? null : Number(rows[0].length_bytes)
  },

  /** False if the bytes from `start` on already arrived from another sender, or the length is exceeded. */
  async advance(db: Db, id: Id, start: number, more: number, expiresAt: Date): Promise<boolean> {
    const { rows } =
      await sql`update uploads set offset_bytes = ${String(start + more)}::int8, expires_at = ${expiresAt},
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
      where id = ${id} and offset_bytes = ${String(start)}::int8 and file_id is null
        and coalesce(length_bytes >= ${String(start + more)}::int8, true) returning 1`.execute(db)
    return rows.length === 1
  },

  async insertPart(db: Db, id: Id, start: number, { place, size }: Part): Promise<void> {
    await db
      .insertInto('upload_parts')
      .values({ upload_id: id, start_bytes: int8(start), size_bytes: int8(size), place })
      .execute()
  },

  parts: (db: Db, id: Id): Promise<Selectable<UploadPartTable>[]> =>
    db.selectFrom('upload_parts').selectAll().where('upload_id', '=', id).orderBy('start_bytes').execute(),

  /** Records the resulting file and deletes the parts. Returns the parts' places. */
  async becomeFile(db: Db, id: Id, fileId: Id): Promise<string[]> {
    await db.updateTable('uploads').set({ file_id: fileId }).where('id', '=', id).execute()
    const parts = await db.deleteFrom('upload_parts').where('upload_id', '=', id).returning('place').execute()
    return parts.map(({ place }) => place)
  },

  /** Returns its parts' places, or null if it was already deleted. */
  async delete(db: Db, id: Id): Promise<string[] | null> {
    const parts = await db.deleteFrom('upload_parts').where('upload_id', '=', id).returning('place').execute()
    const row = await db.deleteFrom('uploads').where('id', '=', id).returning('id').executeTakeFirst()
    return row === undefined ? null : parts.map(({ place }) => place)
  },

  async expired(db: Db, limit: number): Promise<Id[]> {
    const rows = await db
      .selectFrom('uploads')
      .select('id')
      .where('expires_at', '<', sql<Date>`now()`)
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  },
}
