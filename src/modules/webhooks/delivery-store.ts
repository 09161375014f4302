import { type ColumnType, type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    webhook_deliveries: DeliveryTable
  }
}

export interface Attempt {
  at: string
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
}
interface DeliveryTable {
  id: Id
  endpoint_id: Id
  message_id: Id
  event_type: string
  payload: string
  redelivery_of: Id | null
  status: Generated<'waiting' | 'succeeded' | 'failed' | 'cancelled'>
  attempts: ColumnType<Attempt[], string | undefined, string>
  due_at: Date | null
  completed_at: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type DeliveryRow = Selectable<DeliveryTable>
/** `holder`: the responsible account, or the workspace if there is none. */
export type TakenDelivery = DeliveryRow & { holder: Id }

const DAYS_KEPT = 30

export const deliveryStore = {
  /** Null if the message was already sent there or the endpoint was deleted. */
  insert: async (
    db: Db,
    row: Pick<DeliveryRow, 'id' | 'endpoint_id' | 'message_id' | 'event_type' | 'payload' | 'redelivery_of'>,
  ): Promise<DeliveryRow | null> =>
    (
      await sql<DeliveryRow>`insert into webhook_deliveries
          (id, endpoint_id, message_id, event_type, payload, redelivery_of, due_at)
        select ${row.id}, e.id, ${row.message_id}, ${row.event_type}, ${row.payload}, ${row.redelivery_of}::ulid,
          clock_timestamp()
        from webhook_endpoints e where e.id = ${row.endpoint_id} for key share
        on conflict do nothing returning *`.execute(db)
    ).rows[0] ?? null,

  get: async (db: Db, endpointId: Id, id: Id): Promise<DeliveryRow | null> =>
    (await db
      .selectFrom('webhook_deliveries')
      .selectAll()
      .where('id', '=', id)
      .where('endpoint_id', '=', endpointId)
      .executeTakeFirst()) ?? null,

  list: (
    db: Db,
    of: { endpointId: Id; status: DeliveryRow['status'] | undefined; eventType: string | undefined },
    before: Id | null,
    limit: number,
  ): Promise<DeliveryRow[]> =>
    db
      .selectFrom('webhook_deliveries')
      .selectAll()
      .where('endpoint_id', '=', of.endpointId)
      .$if(of.status !== undefined, (query) => query.where('status', '=', of.status!))
      .$if(of.eventType !== undefined, (query) => query.where('event_type', '=', of.eventType!))
      .$call(newestFirst('id', before, limit))
      .execute(),

  /**
   * Claims due deliveries, a few per endpoint and account, so that slow receivers delay only their own account.
   * Unsettled claims are due again after `lostSeconds`, in case their process dies.
   */
  take: async (
    db: Db,
    {
      busy,
      perEndpoint,
      going,
      perAccount,
      limit,
      lostSeconds,
    }: {
      busy: readonly Id[]
      perEndpoint: number
      going: ReadonlyMap<Id, number>
      perAccount: number
      limit: number
      lostSeconds: number
    },
  ): Promise<TakenDelivery[]> =>
    (
      await sql<TakenDelivery>`update webhook_deliveries w set due_at = clock_timestamp() + make_interval(secs => ${lostSeconds})
        from (
          select id, holder from (
            select d.id, d.due_at, e.holder, e.going + row_number() over (partition by e.holder order by d.due_at) as place
            from (
              select e.id, coalesce(e.account_id, e.workspace_id) as holder, coalesce(g.n, 0) as going from webhook_endpoints e
              left join unnest(${[...going.keys()]}::ulid[], ${[...going.values()]}::int[]) g(holder, n)
                on g.holder = coalesce(e.account_id, e.workspace_id)
              where e.status = 'enabled' and not e.id = any(${busy}::ulid[])
            ) e cross join lateral (
              select x.id, x.due_at from webhook_deliveries x
              where x.endpoint_id = e.id and x.status = 'waiting' and x.due_at <= clock_timestamp()
              order by x.due_at limit ${perEndpoint} for update skip locked
            ) d where e.going < ${perAccount}
          ) ranked where place <= ${perAccount} order by due_at limit ${limit}
        ) taken where w.id = taken.id
        returning w.*, taken.holder`.execute(db)
    ).rows,

  settle: async (
    db: Db,
    id: Id,
    attempt: Attempt,
    to: { status: 'succeeded' | 'failed' } | { again: number },
  ): Promise<void> => {
    const isSettled = 'status' in to
    await sql`update webhook_deliveries set attempts = attempts || ${JSON.stringify([attempt])}::jsonb,
        status = ${isSettled ? to.status : 'waiting'},
        due_at = ${isSettled ? null : sql`clock_timestamp() + make_interval(secs => ${to.again})`},
        completed_at = ${isSettled ? sql`now()` : null}, updated_at = ${nextTime}
      where id = ${id} and status = 'waiting'`.execute(db)
  },

  cancelWaiting: async (db: Db, endpointId: Id): Promise<void> => {
    await db
      .updateTable('webhook_deliveries')
      .set({ status: 'cancelled', due_at: null, completed_at: sql<Date>`now()`, updated_at: nextTime })
      .where('endpoint_id', '=', endpointId)
      .where('status', '=', 'waiting')
      .execute()
  },

  retain: async (db: Db): Promise<void> => {
    await db
      .deleteFrom('webhook_deliveries')
      .where('created_at', '<', sql<Date>`now() - make_interval(days => ${DAYS_KEPT})`)
      .execute()
  },
}
