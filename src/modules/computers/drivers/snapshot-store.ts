import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_snapshots: SnapshotTable
  }
}
interface SnapshotTable {
  id: Id
  workspace_id: Id
  computer_id: Id
  computer_name: string
  name: string | null
  created_by: Id | null
  status: Generated<'creating' | 'ready' | 'failed'>
  sha256: string | null
  size_bytes: bigint | null
  entries: bigint | null
  home_bytes: bigint | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type SnapshotRow = Selectable<SnapshotTable>

export interface SnapshotPage {
  workspaces: readonly Id[]
  computerId: Id | null
  before: Id | null
  limit: number
}

const isMade = sql`exists (select 1 from operations o
  where o.resource_type = 'computer_snapshot' and o.resource_id = s.id::text and o.status in ('queued', 'running'))`

export const snapshotStore = {
  async get(db: Db, id: Id): Promise<SnapshotRow | null> {
    return (await db.selectFrom('computer_snapshots').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
  },

  list: (db: Db, { workspaces, computerId, before, limit }: SnapshotPage): Promise<SnapshotRow[]> =>
    db
      .selectFrom('computer_snapshots')
      .selectAll()
      .where(sql<boolean>`workspace_id = any(${workspaces}::ulid[])`)
      .$if(computerId !== null, (query) => query.where('computer_id', '=', computerId!))
      .$call(newestFirst('id', before, limit))
      .execute(),

  insert: (
    db: Db,
    row: Pick<SnapshotRow, 'id' | 'workspace_id' | 'computer_id' | 'computer_name' | 'name' | 'created_by'>,
  ): Promise<SnapshotRow> =>
    db
      .insertInto('computer_snapshots')
      .values({ ...row, sha256: null, size_bytes: null, entries: null, home_bytes: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  /** Returns undefined if the snapshot was deleted meanwhile. */
  finish: (
    db: Db,
    id: Id,
    end:
      | { status: 'failed' }
      | { status: 'ready'; sha256: string; size_bytes: bigint; entries: bigint; home_bytes: bigint },
  ): Promise<SnapshotRow | undefined> =>
    db
      .updateTable('computer_snapshots')
      .set({ ...end, updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '=', 'creating')
      .returningAll()
      .executeTakeFirst(),

  async underWay(db: Db, computerId: Id): Promise<boolean> {
    const { rows } = await sql`select from computer_snapshots s
      where s.computer_id = ${computerId} and s.status = 'creating' and ${isMade}`.execute(db)
    return rows.length > 0
  },

  /** Fails this host's orphaned snapshots. Returns their computers. */
  async abandon(db: Db, host: string): Promise<Id[]> {
    const { rows } = await sql<{
      computer_id: Id
    }>`update computer_snapshots s set status = 'failed', updated_at = ${nextTime}
      from cloud_computers k where k.computer_id = s.computer_id and k.host = ${host}
        and s.status = 'creating' and not ${isMade} returning s.computer_id`.execute(db)
    return rows.map((row) => row.computer_id)
  },

  async remove(db: Db, id: Id): Promise<void> {
    await db.deleteFrom('computer_snapshots').where('id', '=', id).execute()
  },
}
