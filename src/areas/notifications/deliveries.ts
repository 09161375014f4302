import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#engine/postgres/client.ts'
import type { Id } from '#kernel/ids.ts'

declare module '#engine/postgres/tables.ts' {
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
      .values({ ...row, error: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  of: (db: Db, notificationIds: readonly Id[]): Promise<DeliveryRow[]> =>
    db
      .selectFrom('notification_deliveries')
      .selectAll()
      .where(sql<boolean>`notification_id = any(${notificationIds}::ulid[])`)
      .orderBy('id')
      .execute(),

  /** Held until the transaction ends; what another process holds is left to it. */
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

  /** Accounts that something waits for which should have gone: its job was lost. */
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
