import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import { type Id, firstIdAt } from '#core/ids.ts'
import type { Severity } from './preferences/types.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    notifications: NotificationTable
  }
}
interface NotificationTable {
  id: Id
  account_id: Id
  workspace_id: Id | null
  sender_id: Id | null
  type: string
  title: string
  body: string | null
  severity: Severity
  resource_type: string | null
  resource_id: string | null
  action_url: string | null
  status: Generated<'unread' | 'read'>
  read_at: Date | null
  in_app: boolean
  told_of: string | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type NotificationRow = Selectable<NotificationTable>

export interface Filters {
  accountId: Id
  heldTo: Id | null
  status?: 'unread' | 'read' | undefined
  type?: string | undefined
  severity?: Severity | undefined
  workspaceId?: Id | undefined
  since?: string | undefined
}

const MONTHS_KEPT = 6

export const notificationStore = {
  /** Null if the person was already notified. */
  insert: async (
    db: Db,
    row: Omit<NotificationRow, 'status' | 'read_at' | 'created_at' | 'updated_at'>,
  ): Promise<NotificationRow | null> =>
    (await db
      .insertInto('notifications')
      .values({ ...row, read_at: null })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'told_of']).where('told_of', 'is not', null).doNothing(),
      )
      .returningAll()
      .executeTakeFirst()) ?? null,

  find: async (db: Db, id: Id, accountId: Id, heldTo: Id | null): Promise<NotificationRow | null> =>
    (await db
      .selectFrom('notifications')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('in_app', '=', true)
      .$if(heldTo !== null, (query) => query.where('workspace_id', '=', heldTo))
      .executeTakeFirst()) ?? null,

  byIds: (db: Db, ids: readonly Id[]): Promise<NotificationRow[]> =>
    db
      .selectFrom('notifications')
      .selectAll()
      .where(sql<boolean>`id = any(${ids}::ulid[])`)
      .orderBy('id')
      .execute(),

  list: (
    db: Db,
    { accountId, heldTo, status, type, severity, workspaceId, since }: Filters,
    before: Id | null,
    limit: number,
  ): Promise<NotificationRow[]> =>
    db
      .selectFrom('notifications')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('in_app', '=', true)
      .$if(heldTo !== null, (query) => query.where('workspace_id', '=', heldTo))
      .$if(status !== undefined, (query) => query.where('status', '=', status!))
      .$if(type !== undefined, (query) => query.where('type', '=', type!))
      .$if(severity !== undefined, (query) => query.where('severity', '=', severity!))
      .$if(workspaceId !== undefined, (query) => query.where('workspace_id', '=', workspaceId!))
      .$if(since !== undefined, (query) => query.where('created_at', '>=', new Date(since!)))
      .$call(newestFirst('id', before, limit))
      .execute(),

  /** How often an account was notified about this resource since then (ms since the epoch). */
  toldSince: async (
    db: Db,
    accountId: Id,
    { type, resourceId, since }: { type: string; resourceId: string; since: number },
  ): Promise<number> =>
    (
      await db
        .selectFrom('notifications')
        .select(sql<number>`count(*)::int`.as('n'))
        .where('account_id', '=', accountId)
        .where('id', '>=', firstIdAt(since))
        .where('type', '=', type)
        .where('resource_id', '=', resourceId)
        .executeTakeFirstOrThrow()
    ).n,

  unread: async (db: Db, accountId: Id, heldTo: Id | null): Promise<number> =>
    (
      await db
        .selectFrom('notifications')
        .select(sql<number>`count(*)::int`.as('n'))
        .where('account_id', '=', accountId)
        .where('status', '=', 'unread')
        .where('in_app', '=', true)
        .$if(heldTo !== null, (query) => query.where('workspace_id', '=', heldTo))
        .executeTakeFirstOrThrow()
    ).n,

  /** Null if it already has this status, was deleted, or changed since `unchangedSince`. */
  mark: async (
    db: Db,
    id: Id,
    status: 'unread' | 'read',
    unchangedSince: Date | null,
  ): Promise<NotificationRow | null> =>
    (await db
      .updateTable('notifications')
      .set({ status, read_at: status === 'read' ? sql<Date>`now()` : null, updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '<>', status)
      .$if(unchangedSince !== null, (query) => query.where('updated_at', '=', unchangedSince!))
      .returningAll()
      .executeTakeFirst()) ?? null,

  readAll: async (
    db: Db,
    { accountId, heldTo, type, workspaceId }: Filters,
    before: string | undefined,
  ): Promise<number> =>
    Number(
      (
        await db
          .updateTable('notifications')
          .set({ status: 'read', read_at: sql<Date>`now()`, updated_at: nextTime })
          .where('account_id', '=', accountId)
          .where('status', '=', 'unread')
          .where('in_app', '=', true)
          .$if(heldTo !== null, (query) => query.where('workspace_id', '=', heldTo))
          .$if(type !== undefined, (query) => query.where('type', '=', type!))
          .$if(workspaceId !== undefined, (query) => query.where('workspace_id', '=', workspaceId!))
          .$if(before !== undefined, (query) => query.where('created_at', '<=', new Date(before!)))
          .executeTakeFirstOrThrow()
      ).numUpdatedRows,
    ),

  delete: async (db: Db, id: Id): Promise<boolean> =>
    (await db.deleteFrom('notifications').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows > 0n,

  retain: async (db: Db): Promise<void> => {
    await db
      .deleteFrom('notifications')
      .where('created_at', '<', sql<Date>`now() - make_interval(months => ${MONTHS_KEPT})`)
      .execute()
  },
}
