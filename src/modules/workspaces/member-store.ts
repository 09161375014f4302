import { type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Role } from '#core/scopes.ts'
import type { RulesTable } from './store.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    members: MemberTable
  }
}

interface MemberTable extends RulesTable {
  id: Id
  workspace_id: Id
  account_id: Id
  role: Role
  permissions: string[] | null
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type MemberRow = Selectable<MemberTable>
export type NamedMember = MemberRow & { name: string; email: string }

export interface BudgetedMember extends Pick<MemberRow, 'id' | 'account_id' | 'workspace_id' | 'spend_cap_period'> {
  spend_cap_nano: Nano
  name: string
  workspace: string
  managers: Id[]
}

const named = (db: Db) =>
  db
    .selectFrom('members as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .selectAll('m')
    .select(['a.name', 'a.email'])

export const memberStore = {
  insert: (db: Db, row: Omit<MemberRow, 'created_at' | 'updated_at' | 'keys' | 'allowed_models'>): Promise<MemberRow> =>
    db.insertInto('members').values(row).returningAll().executeTakeFirstOrThrow(),

  list: (db: Db, workspaceId: Id, before: Id | null, limit: number): Promise<NamedMember[]> =>
    named(db)
      .where('m.workspace_id', '=', workspaceId)
      .$call(newestFirst('m.id', before, limit))
      .execute(),

  get: (db: Db, workspaceId: Id, id: Id): Promise<NamedMember | undefined> =>
    named(db)
      .where('m.workspace_id', '=', workspaceId)
      .where((where) => where.or([where('m.id', '=', id), where('m.account_id', '=', id)]))
      .executeTakeFirst(),

  byEmail: (db: Db, workspaceId: Id, email: string): Promise<NamedMember | undefined> =>
    named(db)
      .where('m.workspace_id', '=', workspaceId)
      .where(sql`lower(a.email)`, '=', email.toLowerCase())
      .executeTakeFirst(),

  accountIds: async (db: Db, workspaceId: Id): Promise<Id[]> => {
    const rows = await db.selectFrom('members').select('account_id').where('workspace_id', '=', workspaceId).execute()
    return rows.map((row) => row.account_id)
  },

  async countOf(db: Db, accountId: Id): Promise<number> {
    const { count } = await db
      .selectFrom('members')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow()
    return count
  },

  /** Owners with all permissions of their role, who can transfer the workspace. */
  async ownerIds(db: Db, workspaceId: Id): Promise<Id[]> {
    const rows = await db
      .selectFrom('members')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('role', '=', 'owner')
      .where('permissions', 'is', null)
      .execute()
    return rows.map((row) => row.id)
  },

  async update(db: Db, id: Id, changes: Updateable<MemberTable>): Promise<void> {
    await db
      .updateTable('members')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .execute()
  },

  async budgeted(db: Db): Promise<BudgetedMember[]> {
    const { rows } = await sql<BudgetedMember>`
      select m.id, m.account_id, w.id as workspace_id, w.name as workspace, a.name, m.spend_cap_nano, m.spend_cap_period,
        array(select o.account_id::text from members o where o.workspace_id = w.id and o.role in ('admin', 'owner')) as managers
      from members m join workspaces w on w.id = m.workspace_id join accounts a on a.id = m.account_id
      where m.spend_cap_nano is not null and w.status = 'active'`.execute(db)
    return rows
  },

  async delete(db: Db, id: Id): Promise<void> {
    await db.deleteFrom('members').where('id', '=', id).execute()
  },
}
