import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computer_pairings: PairingTable
  }
}
interface PairingTable {
  id: Id
  account_id: Id
  key_id: Id | null
  scopes: string[] | null
  held_to: Id | null
  workspace_id: Id
  name: string | null
  token_hash: Buffer
  code_half: string
  code_hash: Buffer
  wrong_codes: Generated<number>
  computer_id: Id | null
  redeemed_at: Date | null
  expires_at: Date
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type PairingRow = Selectable<PairingTable>

export const MAX_WRONG_CODES = 10

const waits = sql<boolean>`(redeemed_at is null and expires_at > now() and wrong_codes < ${sql.lit(MAX_WRONG_CODES)})`

export const pairingStore = {
  insert: (
    db: Db,
    row: Omit<PairingRow, 'wrong_codes' | 'computer_id' | 'redeemed_at' | 'created_at' | 'updated_at'>,
  ): Promise<PairingRow> =>
    db
      .insertInto('computer_pairings')
      .values({ ...row, computer_id: null, redeemed_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  get: (db: Db, id: Id): Promise<PairingRow | undefined> =>
    db.selectFrom('computer_pairings').selectAll().where('id', '=', id).executeTakeFirst(),

  list: (db: Db, accountId: Id, workspaces: readonly Id[], before: Id | null, limit: number): Promise<PairingRow[]> =>
    db
      .selectFrom('computer_pairings')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(sql<boolean>`workspace_id = any(${workspaces}::ulid[])`)
      .$call(newestFirst('id', before, limit))
      .execute(),

  async countWaiting(db: Db, accountId: Id): Promise<number> {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from computer_pairings
      where account_id = ${accountId} and ${waits}`.execute(db)
    return rows[0]!.n
  },

  byToken: (db: Db, tokenHash: Buffer): Promise<PairingRow | undefined> =>
    db.selectFrom('computer_pairings').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst(),

  /**
   * Counts wrong attempts before comparing the rest, so that concurrent guesses can't exceed ten. `forgive` undoes it
   * for the match.
   */
  tryCode: async (db: Db, half: string): Promise<PairingRow[]> =>
    db
      .updateTable('computer_pairings')
      .set({ wrong_codes: sql<number>`wrong_codes + 1` })
      .where('code_half', '=', half)
      .where(waits)
      .returningAll()
      .execute(),

  async forgive(db: Db, id: Id): Promise<void> {
    await sql`update computer_pairings set wrong_codes = wrong_codes - 1 where id = ${id}`.execute(db)
  },

  /** Only the first of concurrent calls gets the row. */
  redeem: (db: Db, id: Id): Promise<PairingRow | undefined> =>
    db
      .updateTable('computer_pairings')
      .set({ redeemed_at: sql<Date>`now()`, updated_at: nextTime })
      .where('id', '=', id)
      .where(waits)
      .returningAll()
      .executeTakeFirst(),

  async setComputer(db: Db, id: Id, computerId: Id): Promise<void> {
    await db.updateTable('computer_pairings').set({ computer_id: computerId }).where('id', '=', id).execute()
  },

  async cancel(db: Db, id: Id): Promise<boolean> {
    const row = await db
      .updateTable('computer_pairings')
      .set({ expires_at: sql<Date>`now()`, updated_at: nextTime })
      .where('id', '=', id)
      .where(waits)
      .returning('id')
      .executeTakeFirst()
    return row !== undefined
  },

  async retain(db: Db): Promise<void> {
    await sql`delete from computer_pairings where expires_at < now() - interval '30 days'`.execute(db)
  },
}
