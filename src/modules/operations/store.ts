import { type Generated, type Selectable, type Updateable, sql } from 'kysely'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Behalf } from '#core/principal.ts'
import type { Nano } from '#core/money.ts'
import type { Span } from '#core/time.ts'
import type { z } from 'zod'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import type { operationStatus } from './contract.ts'

export type Status = z.output<typeof operationStatus>

declare module '#infra/postgres/tables.ts' {
  interface Database {
    operations: OperationTable
  }
}
interface OperationTable extends Behalf {
  id: Id
  workspace_id: Id | null
  /** Sharing the chat shares the operation. */
  chat_id: Id | null
  kind: string
  status: Generated<Status>
  progress: number | null
  input: unknown
  result: unknown
  error: ErrorBody['error'] | string | null
  resource_type: string | null
  resource_id: string | null
  content_type: string | null
  content: string | null
  content_file_id: Id | null
  content_expires_at: Date | null
  content_seconds: number | null
  cost_nano: Nano | null
  process_id: Id | null
  attempts: Generated<number>
  cancel_requested_at: Date | null
  started_at: Date | null
  completed_at: Date | null
  expires_at: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export type OperationRow = Selectable<OperationTable>
type Changes = Updateable<OperationTable>

const over = (status: Status): boolean => status !== 'queued' && status !== 'running'
export { over }

const now = sql<Date>`date_trunc('milliseconds', clock_timestamp())`

/** One waiting job per operation. */
export const jobKey = (id: Id): string => `operation:${id}`

export const operations = {
  /** Counts up to `most`. */
  async countUnfinished(db: Db, accountId: Id, most: number): Promise<number> {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from (
        select from operations where account_id = ${accountId} and status in ('queued', 'running') limit ${most}
      ) unfinished`.execute(db)
    return rows[0]!.n
  },

  async unfinishedOf(db: Db, accountId: Id, { from, until }: Span): Promise<Id[]> {
    const rows = await db
      .selectFrom('operations')
      .select('id')
      .where('account_id', '=', accountId)
      .where('status', 'in', ['queued', 'running'])
      .where('created_at', '>=', from)
      .where('created_at', '<=', until)
      .execute()
    return rows.map(({ id }) => id)
  },

  insert: (
    db: Db,
    row: Pick<
      OperationTable,
      | 'id'
      | 'account_id'
      | 'workspace_id'
      | 'chat_id'
      | 'key_id'
      | 'kind'
      | 'input'
      | 'resource_type'
      | 'resource_id'
      | 'scopes'
      | 'held_to'
      | 'content_seconds'
      | 'expires_at'
    >,
  ): Promise<OperationRow> =>
    db
      .insertInto('operations')
      .values({ ...row, input: JSON.stringify(row.input) })
      .returningAll()
      .executeTakeFirstOrThrow(),

  find: async (db: Db, id: Id, accountId: Id): Promise<OperationRow | null> =>
    (await db
      .selectFrom('operations')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst()) ?? null,

  some: (db: Db, ids: readonly Id[]): Promise<OperationRow[]> =>
    db.selectFrom('operations').selectAll().where('id', 'in', ids).execute(),

  list: (
    db: Db,
    of: {
      accountId: Id
      workspaces: readonly Id[]
      chats: readonly Id[]
      homeless: boolean
      status?: Status | undefined
      kind?: string | undefined
      before: Id | null
      limit: number
    },
  ): Promise<OperationRow[]> => {
    let query = db
      .selectFrom('operations')
      .selectAll()
      .where('account_id', '=', of.accountId)
      .orderBy('id', 'desc')
      .limit(of.limit)
    query = query.where(sql<boolean>`(workspace_id = any(${of.workspaces}::ulid[]) or chat_id = any(${of.chats}::text[])
      or (workspace_id is null and ${of.homeless}))`)
    if (of.status !== undefined) query = query.where('status', '=', of.status)
    if (of.kind !== undefined) query = query.where('kind', '=', of.kind)
    if (of.before !== null) query = query.where('id', '<', of.before)
    return query.execute()
  },

  /** Ends a queued operation and flags a running one. Null: ended, or already requested. */
  requestCancel: async (db: Db, id: Id): Promise<OperationRow | null> =>
    (await db
      .updateTable('operations')
      .set({
        cancel_requested_at: now,
        completed_at: sql<Date | null>`case when status = 'queued' then ${now} end`,
        status: sql<Status>`case when status = 'queued' then 'cancelled' else status end`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where((row) =>
        row.or([
          row('status', '=', 'queued'),
          row.and([row('status', '=', 'running'), row('cancel_requested_at', 'is', null)]),
        ]),
      )
      .returningAll()
      .executeTakeFirst()) ?? null,

  /** Null: canceled, or taken by another process. */
  take: async (db: Db, id: Id, processId: Id): Promise<OperationRow | null> =>
    (await db
      .updateTable('operations')
      .set({
        status: 'running',
        process_id: processId,
        attempts: sql<number>`attempts + 1`,
        started_at: sql<Date>`coalesce(started_at, ${now})`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'queued')
      .returningAll()
      .executeTakeFirst()) ?? null,

  /** Ends a running operation of this process, or requeues it. Null: it has already ended. */
  leave: async (
    db: Db,
    id: Id,
    processId: Id,
    status: Exclude<Status, 'running'>,
    changes: Changes = {},
  ): Promise<OperationRow | null> =>
    (await db
      .updateTable('operations')
      .set({
        // For appended content. An outcome with content sets its own.
        ...(over(status) && {
          completed_at: now,
          content_expires_at: sql<Date>`case when content is not null then now() + make_interval(secs => content_seconds) end`,
        }),
        ...changes,
        status,
        process_id: null,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'running')
      .where('process_id', '=', processId)
      .returningAll()
      .executeTakeFirst()) ?? null,

  progress: async (db: Db, id: Id, processId: Id, progress: number): Promise<OperationRow | null> =>
    (await db
      .updateTable('operations')
      .set({ progress, updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '=', 'running')
      .where('process_id', '=', processId)
      .returningAll()
      .executeTakeFirst()) ?? null,

  costs: async (db: Db, id: Id, nano: Nano): Promise<void> => {
    await db.updateTable('operations').set({ cost_nano: nano }).where('id', '=', id).execute()
  },

  /** Appends to readable content while running. `anew` discards a previous attempt's content. */
  append: async (db: Db, id: Id, processId: Id, text: string, anew: boolean): Promise<void> => {
    await db
      .updateTable('operations')
      .set({
        content: anew ? text : sql<string>`coalesce(content, '') || ${text}`,
        content_type: 'text/plain; charset=utf-8',
      })
      .where('id', '=', id)
      .where('status', '=', 'running')
      .where('process_id', '=', processId)
      .execute()
  },

  states: async (db: Db, ids: readonly Id[]): Promise<{ id: Id; status: Status; cancel_requested_at: Date | null }[]> =>
    db.selectFrom('operations').select(['id', 'status', 'cancel_requested_at']).where('id', 'in', ids).execute(),

  endCancelled: (db: Db, afterSeconds: number): Promise<OperationRow[]> =>
    db
      .updateTable('operations')
      .set({ status: 'cancelled', completed_at: now, process_id: null, updated_at: nextTime })
      .where('status', '=', 'running')
      .where('cancel_requested_at', '<', sql<Date>`now() - make_interval(secs => ${afterSeconds})`)
      .returningAll()
      .execute(),

  endExpired: (db: Db): Promise<OperationRow[]> =>
    db
      .updateTable('operations')
      .set({ status: 'expired', completed_at: now, process_id: null, updated_at: nextTime })
      .where('status', 'in', ['queued', 'running'])
      .where('expires_at', '<=', sql<Date>`now()`)
      .returningAll()
      .execute(),

  orphans: (db: Db, processId: Id): Promise<OperationRow[]> =>
    db
      .selectFrom('operations')
      .selectAll()
      .where('status', '=', 'running')
      .where(
        sql<boolean>`(process_id = ${processId} or not exists (select 1 from processes p where p.id = operations.process_id and p.expires_at > now()))`,
      )
      .limit(100)
      .execute(),

  /** Queued for over a minute without a job. */
  jobless: (db: Db): Promise<Pick<OperationRow, 'id' | 'kind' | 'input'>[]> =>
    db
      .selectFrom('operations')
      .select(['id', 'kind', 'input'])
      .where('status', '=', 'queued')
      .where('updated_at', '<', sql<Date>`now() - interval '1 minute'`)
      .where(sql<boolean>`not exists (select 1 from graphile_worker.jobs j where j.key = 'operation:' || operations.id
          and (j.locked_at is not null or j.attempts < j.max_attempts))`)
      .limit(100)
      .execute(),

  async forgetOf(db: Db, chatIds: readonly Id[]): Promise<void> {
    await db.deleteFrom('operations').where('chat_id', 'in', chatIds).execute()
  },

  retain: async (db: Db): Promise<void> => {
    await db
      .updateTable('operations')
      .set({ content: null, content_file_id: null, updated_at: nextTime })
      .where('content_expires_at', '<', sql<Date>`now()`)
      .where((row) => row.or([row('content', 'is not', null), row('content_file_id', 'is not', null)]))
      .execute()
    await db
      .deleteFrom('operations')
      .where('completed_at', '<', sql<Date>`now() - interval '30 days'`)
      .execute()
  },
}
