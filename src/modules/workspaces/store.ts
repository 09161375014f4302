import { type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Period } from '#core/time.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    workspaces: WorkspaceTable
  }
}

export interface RulesTable {
  spend_cap_nano: Generated<Nano | null>
  spend_cap_period: Generated<Period>
  /** `workspace`: models only with keys restricted to the workspace. */
  keys: Generated<'any' | 'workspace'>
  /** Null: all. */
  allowed_models: Generated<string[] | null>
}

interface WorkspaceTable extends RulesTable {
  id: Id
  name: string
  description: string | null
  kind: 'personal' | 'team'
  status: Generated<'active' | 'archived'>
  archived_at: Date | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type WorkspaceRow = Selectable<WorkspaceTable>
type Budgeted = Partial<Pick<WorkspaceRow, 'spend_cap_nano' | 'spend_cap_period'>>
/** `workspace_id` is its own ID, because `permit` reads that of every resource. */
export type CountedWorkspace = WorkspaceRow & { workspace_id: Id; member_count: number }

const counted = (db: Db) =>
  db
    .selectFrom('workspaces as w')
    .selectAll('w')
    .select([
      'w.id as workspace_id',
      sql<number>`(select count(*)::int from members m where m.workspace_id = w.id)`.as('member_count'),
    ])

export const workspaceStore = {
  get: (db: Db, id: Id): Promise<CountedWorkspace | undefined> => counted(db).where('w.id', '=', id).executeTakeFirst(),

  list: (
    db: Db,
    ids: readonly Id[],
    status: WorkspaceRow['status'],
    before: Id | null,
    limit: number,
  ): Promise<CountedWorkspace[]> =>
    counted(db)
      .where(sql<boolean>`w.id = any(${ids}::ulid[])`)
      .where('w.status', '=', status)
      .$call(newestFirst('w.id', before, limit))
      .execute(),

  insert: (
    db: Db,
    row: Pick<WorkspaceRow, 'id' | 'name' | 'description' | 'kind' | 'created_by'> & Budgeted,
  ): Promise<WorkspaceRow> =>
    db
      .insertInto('workspaces')
      .values({ ...row, archived_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  /** Locks the workspace to serialize changes of its members. Resources can still be added. */
  lock: (db: Db, id: Id): Promise<WorkspaceRow | undefined> =>
    db.selectFrom('workspaces').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst(),

  async update(db: Db, id: Id, changes: Updateable<WorkspaceTable>): Promise<void> {
    await db
      .updateTable('workspaces')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .execute()
  },

  async contents(db: Db, id: Id): Promise<Record<string, number>> {
    const rows = await db
      .selectFrom('resources')
      .select(['kind', sql<number>`count(*)::int`.as('count')])
      .where('workspace_id', '=', id)
      .groupBy('kind')
      .execute()
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]))
  },

  async delete(db: Db, id: Id): Promise<void> {
    await db.deleteFrom('workspaces').where('id', '=', id).execute()
  },

  async budgeted(
    db: Db,
  ): Promise<{ id: Id; name: string; spend_cap_nano: Nano; spend_cap_period: Period; managers: Id[] }[]> {
    const { rows } = await sql<{
      id: Id
      name: string
      spend_cap_nano: Nano
      spend_cap_period: Period
      managers: Id[]
    }>`
      select w.id, w.name, w.spend_cap_nano, w.spend_cap_period, array(select m.account_id::text from members m
        where m.workspace_id = w.id and m.role in ('admin', 'owner')) as managers
      from workspaces w where w.spend_cap_nano is not null and w.status = 'active'`.execute(db)
    return rows
  },
}
