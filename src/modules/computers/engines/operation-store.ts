import { sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    local_inference_operations: LocalOperationTable
  }
}

export type Phase = 'resolving' | 'downloading' | 'verifying' | 'loading' | 'removing'

interface LocalOperationTable {
  operation_id: Id
  computer_id: Id
  /** Null: an engine installation. */
  model_id: Id | null
  phase: Phase | null
  bytes_done: bigint
  bytes_total: bigint | null
}
export type LocalOperationRow = LocalOperationTable

export const localOperations = {
  insert: async (db: Db, row: Pick<LocalOperationRow, 'operation_id' | 'computer_id' | 'model_id'>): Promise<void> => {
    await db
      .insertInto('local_inference_operations')
      .values({ ...row, phase: null, bytes_done: 0n, bytes_total: null })
      .execute()
  },

  get: async (db: Db, computerId: Id, id: Id): Promise<LocalOperationRow | null> =>
    (await db
      .selectFrom('local_inference_operations')
      .selectAll()
      .where('computer_id', '=', computerId)
      .where('operation_id', '=', id)
      .executeTakeFirst()) ?? null,

  async list(
    db: Db,
    { computerId, status, before, limit }: { computerId: Id; status: string | null; before: Id | null; limit: number },
  ): Promise<LocalOperationRow[]> {
    const { rows } = await sql<LocalOperationRow>`select l.* from local_inference_operations l
      join operations o on o.id = l.operation_id where l.computer_id = ${computerId}
      ${status === null ? sql`` : sql`and o.status = ${status}`} ${before === null ? sql`` : sql`and l.operation_id < ${before}`}
      order by l.operation_id desc limit ${limit}`.execute(db)
    return rows
  },

  async ofEngine(db: Db, computerId: Id): Promise<LocalOperationRow | null> {
    const { rows } = await sql<LocalOperationRow>`select l.* from local_inference_operations l
      join operations o on o.id = l.operation_id where l.computer_id = ${computerId} and l.model_id is null
      and o.status in ('queued', 'running') order by l.operation_id desc limit 1`.execute(db)
    return rows[0] ?? null
  },

  progress: async (
    db: Db,
    id: Id,
    progress: Pick<LocalOperationRow, 'phase' | 'bytes_done' | 'bytes_total'>,
  ): Promise<void> => {
    await db.updateTable('local_inference_operations').set(progress).where('operation_id', '=', id).execute()
  },
}
