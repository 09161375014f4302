import { type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import type { Database } from '#infra/postgres/tables.ts'
import type { Id } from '#core/ids.ts'
import type { Capability } from '#core/scopes.ts'

export type ExposureRow = Selectable<Database['computer_exposures']>

export const exposureStore = {
  /** Returns undefined if the exposure exists. */
  insert: (
    db: Db,
    row: Pick<ExposureRow, 'computer_id' | 'workspace_id' | 'capabilities' | 'created_by'>,
  ): Promise<ExposureRow | undefined> =>
    db
      .insertInto('computer_exposures')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst(),

  update: (
    db: Db,
    computerId: Id,
    workspaceId: Id,
    capabilities: readonly Capability[],
  ): Promise<ExposureRow | undefined> =>
    db
      .updateTable('computer_exposures')
      .set({ capabilities: [...capabilities], updated_at: nextTime })
      .where('computer_id', '=', computerId)
      .where('workspace_id', '=', workspaceId)
      .returningAll()
      .executeTakeFirst(),

  async delete(db: Db, computerId: Id, workspaceId: Id): Promise<boolean> {
    const { rows } = await sql`delete from computer_exposures
      where computer_id = ${computerId} and workspace_id = ${workspaceId} returning 1`.execute(db)
    return rows.length > 0
  },

  async deleteAll(db: Db, computerId: Id): Promise<void> {
    await sql`delete from computer_exposures where computer_id = ${computerId}`.execute(db)
  },
}
