import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    passkeys: PasskeyTable
  }
}
interface PasskeyTable {
  id: Id
  account_id: Id
  name: string
  credential_id: string
  public_key: Buffer
  counter: bigint
  transports: string[]
  rp_id: string
  synced: boolean
  last_used_at: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type PasskeyRow = Selectable<PasskeyTable>

export const passkeyStore = {
  insert: (db: Db, row: Omit<PasskeyRow, 'created_at' | 'updated_at' | 'last_used_at'>): Promise<PasskeyRow> =>
    db
      .insertInto('passkeys')
      .values({ ...row, last_used_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),
  byCredential: (db: Db, credentialId: string): Promise<PasskeyRow | undefined> =>
    db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst(),
  list: (db: Db, accountId: Id, before: Id | null, limit: number): Promise<PasskeyRow[]> =>
    db
      .selectFrom('passkeys')
      .selectAll()
      .where('account_id', '=', accountId)
      .$call(newestFirst('id', before, limit))
      .execute(),
  rename: (db: Db, accountId: Id, id: Id, name: string): Promise<PasskeyRow | undefined> =>
    db
      .updateTable('passkeys')
      .set({ name, updated_at: nextTime })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst(),
  /**
   * Records a use. False if the counter didn't increase: the key was copied, or another process recorded this use
   * (WebAuthn, 7.2, step 22).
   */
  async recordUse(db: Db, id: Id, counter: bigint): Promise<boolean> {
    const { rows } = await sql`update passkeys set counter = ${counter}, last_used_at = now()
      where id = ${id} and (counter < ${counter} or (counter = 0 and ${counter} = 0)) returning 1`.execute(db)
    return rows.length > 0
  },
  async remove(db: Db, accountId: Id, id: Id): Promise<PasskeyRow | undefined> {
    return db
      .deleteFrom('passkeys')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst()
  },
  async removeAll(db: Db, accountId: Id): Promise<void> {
    await db.deleteFrom('passkeys').where('account_id', '=', accountId).execute()
  },
}
