import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    notification_deliveries: DeliveryTable
  }
}
interface DeliveryTable {
  id: Id
  notification_id: Id
  account_id: Id
  channel: 'email' | 'push'
  status: Generated<'waiting' | 'sent' | 'failed' | 'skipped'>
  due_at: Date
  error: string | null
  claimed_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type DeliveryRow = Selectable<DeliveryTable>

const AT_ONCE = 200

export const deliveryStore = {
  insert: (
    db: Db,
    row: Pick<DeliveryRow, 'id' | 'notification_id' | 'account_id' | 'channel' | 'due_at'>,
  ): Promise<DeliveryRow> =>
    db
      .insertInto('notification_deliveries')
      .values({ ...row, error: null, claimed_by: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  of: (db: Db, notificationIds: readonly Id[]): Promise<DeliveryRow[]> =>
    db
      .selectFrom('notification_deliveries')
      .selectAll()
      .where(sql<boolean>`notification_id = any(${notificationIds}::ulid[])`)
      .orderBy('id')
      .execute(),

  /** Locks due deliveries until the transaction ends, skipping those locked by others. */
  due: (db: Db, accountId: Id, channel: 'email' | 'push'): Promise<DeliveryRow[]> =>
    db
      .selectFrom('notification_deliveries')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('channel', '=', channel)
      .where('status', '=', 'waiting')
      .where('due_at', '<=', sql<Date>`clock_timestamp()`)
      .orderBy('id')
      .limit(AT_ONCE)
      .forUpdate()
      .skipLocked()
      .execute(),

  /** Claims due deliveries not claimed by a living process. */
  claim: async (
    db: Db,
    { accountId, channel, processId }: { accountId: Id; channel: 'email' | 'push'; processId: Id },
  ): Promise<DeliveryRow[]> => {
    const { rows } = await db.transaction().execute(async (tx) => {
      // Serialized: after waiting for a row lock, PostgreSQL doesn't recheck whether the new claimant is alive.
      await sql`select pg_advisory_xact_lock(hashtextextended(${`deliveries ${accountId}`}, 0))`.execute(tx)
      return await sql<DeliveryRow>`update notification_deliveries set claimed_by = ${processId} where id in (
          select id from notification_deliveries d
          where account_id = ${accountId} and channel = ${channel} and status = 'waiting' and due_at <= clock_timestamp()
            and not exists (select 1 from processes p where p.id = d.claimed_by and p.expires_at > now())
          order by id limit ${AT_ONCE} for update skip locked)
        returning *`.execute(tx)
    })
    return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  },

  release: async (db: Db, ids: readonly Id[]): Promise<void> => {
    await sql`update notification_deliveries set claimed_by = null
      where id = any(${ids}::ulid[]) and status = 'waiting'`.execute(db)
  },

  close: async (
    db: Db,
    ids: readonly Id[],
    status: 'sent' | 'failed' | 'skipped',
    error: string | null = null,
  ): Promise<void> => {
    if (ids.length === 0) return
    await db
      .updateTable('notification_deliveries')
      .set({ status, error, updated_at: nextTime })
      .where('id', 'in', ids)
      .execute()
  },

  /** Accounts with overdue deliveries, whose job was lost. */
  late: async (db: Db): Promise<Id[]> =>
    (
      await db
        .selectFrom('notification_deliveries')
        .select('account_id')
        .distinct()
        .where('status', '=', 'waiting')
        .where('due_at', '<', sql<Date>`now() - interval '1 hour'`)
        .limit(500)
        .execute()
    ).map(({ account_id }) => account_id),
}
