import { type Generated, type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import { openInvitation } from '#authz/members.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    identities: IdentityTable
  }
}
interface IdentityTable {
  id: Id
  account_id: Id
  issuer: string
  subject: string
  /** As last reported by the provider. */
  email: string | null
  last_used_at: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type IdentityRow = Selectable<IdentityTable>

export const identityStore = {
  insert: (db: Db, row: Omit<IdentityRow, 'created_at' | 'updated_at'>): Promise<IdentityRow> =>
    db.insertInto('identities').values(row).returningAll().executeTakeFirstOrThrow(),
  use: (db: Db, issuer: string, subject: string, email: string | null): Promise<IdentityRow | undefined> =>
    db
      .updateTable('identities')
      .set({ email, last_used_at: sql<Date>`now()`, updated_at: sql<Date>`clock_timestamp()` })
      .where('issuer', '=', issuer)
      .where('subject', '=', subject)
      .returningAll()
      .executeTakeFirst(),
  list: (db: Db, accountId: Id, before: Id | null, limit: number): Promise<IdentityRow[]> =>
    db
      .selectFrom('identities')
      .selectAll()
      .where('account_id', '=', accountId)
      .$call(newestFirst('id', before, limit))
      .execute(),
  remove: (db: Db, accountId: Id, id: Id): Promise<IdentityRow | undefined> =>
    db
      .deleteFrom('identities')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst(),
  async removeAll(db: Db, accountId: Id): Promise<void> {
    await db.deleteFrom('identities').where('account_id', '=', accountId).execute()
  },
  /** Only for a verified address. */
  async isAddressInvited(db: Db, email: string): Promise<boolean> {
    const { rows } = await sql`select from invitations i where lower(i.email) = ${email.toLowerCase()}
      and ${openInvitation} limit 1`.execute(db)
    return rows.length > 0
  },
}
