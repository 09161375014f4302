/** Only the caller who started a command can write to its stdin. */
import { type Generated, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { type Id, parseId } from '#core/ids.ts'
import { type Principal, membershipIn } from '#core/principal.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    open_stdins: OpenStdinTable
  }
}
interface OpenStdinTable {
  exec_id: Id
  computer_id: Id
  account_id: Id
  workspace_id: Id | null
  created_at: Generated<Date>
}
type StdinOwner = Pick<OpenStdinTable, 'account_id' | 'workspace_id'>

/** Outlasts commands without followers. */
const KEPT_DAYS = 16

export const openStdins = {
  /** Background commands have their operation instead. */
  note: async (db: Db, row: Omit<OpenStdinTable, 'created_at'>): Promise<void> =>
    void (await db.insertInto('open_stdins').values(row).execute()),

  async of(db: Db, computerId: Id, execId: string): Promise<StdinOwner | null> {
    const id = parseId(execId)
    if (id === null) return null
    const { rows } = await sql<StdinOwner>`
      select account_id, workspace_id from open_stdins where exec_id = ${id} and computer_id = ${computerId}
      union all
      select account_id, workspace_id from operations
        where id = ${id} and kind = 'computers.exec' and resource_id = ${computerId}`.execute(db)
    return rows[0] ?? null
  },

  async retain(db: Db): Promise<void> {
    await sql`delete from open_stdins where created_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(db)
  },
}

/** The same account, with a key or session that still reaches the workspace. */
export const isOwner = (principal: Principal, { account_id, workspace_id }: StdinOwner): boolean =>
  account_id === principal.accountId && (workspace_id === null || membershipIn(principal, workspace_id) !== null)
