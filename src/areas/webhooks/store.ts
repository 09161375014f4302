import { type ColumnType, type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime } from '#engine/postgres/client.ts'
import { newestFirst } from '#engine/postgres/newest-first.ts'
import type { SealedColumns } from '#engine/reseal.ts'
import type { Id } from '#kernel/ids.ts'
import type { Span } from '#kernel/time.ts'
import { type Role, type Scope, grants } from '#kernel/scopes.ts'

declare module '#engine/postgres/tables.ts' {
  interface Database {
    webhook_endpoints: EndpointTable
    webhook_endpoint_secrets: SecretTable
    webhook_deliveries: DeliveryTable
  }
}
export type DisabledReason = 'manual' | 'failing' | 'gone' | 'rights_lost' | 'account_recovered'

interface EndpointTable {
  id: Id
  workspace_id: Id
  name: string
  url: string
  events: string[]
  scopes: string[] | null
  status: Generated<'enabled' | 'disabled'>
  disabled_reason: DisabledReason | null
  disabled_at: Date | null
  /** Sealed. */
  secret: string
  /** The one before it, where it was made anew before there was a table of them. */
  previous_secret: string | null
  /** The time when the last of the rotated secrets ends. */
  previous_expires_at: Date | null
  failing_since: Date | null
  last_success_at: Date | null
  created_by: Id | null
  /** The account that answers for what is sent there. */
  account_id: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type EndpointRow = Selectable<EndpointTable>

export interface Place {
  role: Role
  permissions: ReadonlySet<Scope> | null
}

/** A secret that was rotated away and signs until it expires; sealed under this id. */
interface SecretTable {
  id: Id
  endpoint_id: Id
  sealed_secret: string
  expires_at: Date
}
export type FormerSecret = Selectable<SecretTable>

/** Former secrets of an endpoint that sign at most: each is 50 bytes of a header. */
const MOST_SECRETS = 10

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
/** A delivery, and the account that answers for it: its workspace where nobody does any more. */
export type TakenDelivery = DeliveryRow & { holder: Id }

const DAYS_KEPT = 30

export const endpointStore = {
  insert: (
    db: Db,
    row: Pick<
      EndpointRow,
      'id' | 'workspace_id' | 'name' | 'url' | 'events' | 'scopes' | 'secret' | 'created_by' | 'account_id'
    >,
  ): Promise<EndpointRow> =>
    db
      .insertInto('webhook_endpoints')
      .values({
        ...row,
        disabled_reason: null,
        disabled_at: null,
        previous_secret: null,
        previous_expires_at: null,
        failing_since: null,
        last_success_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow(),

  get: async (db: Db, id: Id): Promise<EndpointRow | null> =>
    (await db.selectFrom('webhook_endpoints').selectAll().where('id', '=', id).executeTakeFirst()) ?? null,

  list: (db: Db, workspaceId: Id, before: Id | null, limit: number): Promise<EndpointRow[]> =>
    db
      .selectFrom('webhook_endpoints')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .$call(newestFirst('id', before, limit))
      .execute(),

  /** Locks the endpoint until the transaction ends: nobody else changes it. */
  lock: async (db: Db, id: Id): Promise<EndpointRow | null> =>
    (await db.selectFrom('webhook_endpoints').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()) ?? null,

  /** Former secrets that still sign, newest first. */
  formerSecrets: (db: Db, id: Id, at: Date): Promise<FormerSecret[]> =>
    db
      .selectFrom('webhook_endpoint_secrets')
      .selectAll()
      .where('endpoint_id', '=', id)
      .where('expires_at', '>', at)
      .orderBy('id', 'desc')
      .limit(MOST_SECRETS)
      .execute(),

  /** Keeps secrets that are rotated away. None: all before end at once. */
  async retire(db: Db, endpointId: Id, secrets: readonly FormerSecret[]): Promise<void> {
    if (secrets.length > 0)
      await db
        .insertInto('webhook_endpoint_secrets')
        .values([...secrets])
        .execute()
    await sql`delete from webhook_endpoint_secrets where endpoint_id = ${endpointId} and (${secrets.length === 0}
      or expires_at <= now() or id not in (select id from webhook_endpoint_secrets where endpoint_id = ${endpointId}
        order by id desc limit ${MOST_SECRETS}))`.execute(db)
  },

  /** The number of the workspace's endpoints. Locks its row, so that two creations count one after the other. */
  count: async (db: Db, workspaceId: Id): Promise<number> => {
    await sql`select 1 from workspaces where id = ${workspaceId} for no key update`.execute(db)
    const { n } = await db
      .selectFrom('webhook_endpoints')
      .select(sql<number>`count(*)::int`.as('n'))
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow()
    return n
  },

  /** Null when it is gone, or not as `unchangedSince` has it. */
  update: async (
    db: Db,
    id: Id,
    changes: Updateable<EndpointTable>,
    unchangedSince: Date | null = null,
  ): Promise<EndpointRow | null> =>
    (await db
      .updateTable('webhook_endpoints')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .$if(unchangedSince !== null, (query) => query.where('updated_at', '=', unchangedSince!))
      .returningAll()
      .executeTakeFirst()) ?? null,

  delete: async (db: Db, id: Id): Promise<void> => {
    await db.deleteFrom('webhook_endpoints').where('id', '=', id).execute()
  },

  enabledIn: (db: Db, workspaceIds: readonly Id[]): Promise<EndpointRow[]> =>
    db
      .selectFrom('webhook_endpoints')
      .selectAll()
      .where('status', '=', 'enabled')
      .where(sql<boolean>`workspace_id = any(${workspaceIds}::ulid[])`)
      .execute(),

  /** Enabled ones that this account answers for, made in this time; held. */
  async enabledOf(db: Db, accountId: Id, { from, until }: Span): Promise<Id[]> {
    const rows = await db
      .selectFrom('webhook_endpoints')
      .select('id')
      .where('account_id', '=', accountId)
      .where('status', '=', 'enabled')
      .where('created_at', '>=', from)
      .where('created_at', '<=', until)
      .orderBy('id')
      .forUpdate()
      .execute()
    return rows.map(({ id }) => id)
  },

  /** The present place, in its workspace, of who answers for it. */
  async placeBehind(db: Db, { workspace_id, account_id }: EndpointRow): Promise<Place | null> {
    const row = await db
      .selectFrom('members')
      .select(['role', 'permissions'])
      .where('workspace_id', '=', workspace_id)
      .where('account_id', '=', account_id)
      .executeTakeFirst()
    return row ? { role: row.role, permissions: row.permissions && grants(row.permissions) } : null
  },

  /** Workspaces that have one, as channels. */
  heard: async (db: Db): Promise<Set<string>> => {
    const { rows } = await sql<{ channel: string }>`
      select distinct 'workspace:' || workspace_id as channel from webhook_endpoints where status = 'enabled'`.execute(
      db,
    )
    return new Set(rows.map(({ channel }) => channel))
  },

  succeeded: async (db: Db, id: Id): Promise<void> => {
    await sql`update webhook_endpoints set last_success_at = now(), failing_since = null where id = ${id}`.execute(db)
  },

  /** Answers since when it fails. */
  failed: async (db: Db, id: Id): Promise<Date | null> =>
    (
      await sql<{ failing_since: Date }>`update webhook_endpoints set failing_since = coalesce(failing_since, now())
        where id = ${id} and status = 'enabled' returning failing_since`.execute(db)
    ).rows[0]?.failing_since ?? null,

  /** Null when it was disabled already. */
  disable: async (db: Db, id: Id, reason: DisabledReason): Promise<EndpointRow | null> =>
    (await db
      .updateTable('webhook_endpoints')
      .set({ status: 'disabled', disabled_reason: reason, disabled_at: sql<Date>`now()`, updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '=', 'enabled')
      .returningAll()
      .executeTakeFirst()) ?? null,
}

/** The sealed columns of webhooks, for `resealAll`. */
export const webhookSecrets: readonly SealedColumns[] = [
  { table: 'webhook_endpoints', columns: ['secret', 'previous_secret'] },
  { table: 'webhook_endpoint_secrets', columns: ['sealed_secret'] },
]

export const deliveryStore = {
  /** Null when this message was sent there before, or the endpoint was deleted meanwhile. */
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
   * Takes what is due, a few per endpoint and per account, so that slow receivers hold up only their own account. A taken one
   * is due again after `lostSeconds`, unless it is settled before: whoever took it may die.
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
      /** Deliveries that are under way, by the account that answers for them. */
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
    const over = 'status' in to
    await sql`update webhook_deliveries set attempts = attempts || ${JSON.stringify([attempt])}::jsonb,
        status = ${over ? to.status : 'waiting'},
        due_at = ${over ? null : sql`clock_timestamp() + make_interval(secs => ${to.again})`},
        completed_at = ${over ? sql`now()` : null}, updated_at = ${nextTime}
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
