import { type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { SealedColumns } from '#infra/reseal.ts'
import type { Id } from '#core/ids.ts'
import type { Span } from '#core/time.ts'
import { type Role, type Scope, grants } from '#core/scopes.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    webhook_endpoints: EndpointTable
    webhook_endpoint_secrets: SecretTable
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
  secret: string
  /** The previous secret, if rotated before the secrets table existed. */
  previous_secret: string | null
  previous_expires_at: Date | null
  failing_since: Date | null
  last_success_at: Date | null
  created_by: Id | null
  account_id: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type EndpointRow = Selectable<EndpointTable>

export interface Place {
  role: Role
  permissions: ReadonlySet<Scope> | null
}

/** A rotated secret that signs until it expires, sealed with this ID. */
interface SecretTable {
  id: Id
  endpoint_id: Id
  sealed_secret: string
  expires_at: Date
}
export type FormerSecret = Selectable<SecretTable>

/** Maximum former secrets that sign: each adds 50 bytes to a header. */
const MAX_SECRETS = 10

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

  lock: async (db: Db, id: Id): Promise<EndpointRow | null> =>
    (await db.selectFrom('webhook_endpoints').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()) ?? null,

  formerSecrets: (db: Db, id: Id, at: Date): Promise<FormerSecret[]> =>
    db
      .selectFrom('webhook_endpoint_secrets')
      .selectAll()
      .where('endpoint_id', '=', id)
      .where('expires_at', '>', at)
      .orderBy('id', 'desc')
      .limit(MAX_SECRETS)
      .execute(),

  /** Stores rotated secrets. With an empty list, all former secrets end at once. */
  async retire(db: Db, endpointId: Id, secrets: readonly FormerSecret[]): Promise<void> {
    if (secrets.length > 0)
      await db
        .insertInto('webhook_endpoint_secrets')
        .values([...secrets])
        .execute()
    await sql`delete from webhook_endpoint_secrets where endpoint_id = ${endpointId} and (${secrets.length === 0}
      or expires_at <= now() or id not in (select id from webhook_endpoint_secrets where endpoint_id = ${endpointId}
        order by id desc limit ${MAX_SECRETS}))`.execute(db)
  },

  /** Counts the workspace's endpoints. Locks the workspace row, so that concurrent creations are counted. */
  count: async (db: Db, workspaceId: Id): Promise<number> => {
    await sql`select 1 from workspaces where id = ${workspaceId} for no key update`.execute(db)
    const { n } = await db
      .selectFrom('webhook_endpoints')
      .select(sql<number>`count(*)::int`.as('n'))
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow()
    return n
  },

  /** Null if it was deleted or changed after `unchangedSince`. */
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

  async placeBehind(db: Db, { workspace_id, account_id }: EndpointRow): Promise<Place | null> {
    const row = await db
      .selectFrom('members')
      .select(['role', 'permissions'])
      .where('workspace_id', '=', workspace_id)
      .where('account_id', '=', account_id)
      .executeTakeFirst()
    return row ? { role: row.role, permissions: row.permissions && grants(row.permissions) } : null
  },

  channelsWithEndpoints: async (db: Db): Promise<Set<string>> => {
    const { rows } = await sql<{ channel: string }>`
      select distinct 'workspace:' || workspace_id as channel from webhook_endpoints where status = 'enabled'`.execute(
      db,
    )
    return new Set(rows.map(({ channel }) => channel))
  },

  succeeded: async (db: Db, id: Id): Promise<void> => {
    await sql`update webhook_endpoints set last_success_at = now(), failing_since = null where id = ${id}`.execute(db)
  },

  failed: async (db: Db, id: Id): Promise<Date | null> =>
    (
      await sql<{ failing_since: Date }>`update webhook_endpoints set failing_since = coalesce(failing_since, now())
        where id = ${id} and status = 'enabled' returning failing_since`.execute(db)
    ).rows[0]?.failing_since ?? null,

  disable: async (db: Db, id: Id, reason: DisabledReason): Promise<EndpointRow | null> =>
    (await db
      .updateTable('webhook_endpoints')
      .set({ status: 'disabled', disabled_reason: reason, disabled_at: sql<Date>`now()`, updated_at: nextTime })
      .where('id', '=', id)
      .where('status', '=', 'enabled')
      .returningAll()
      .executeTakeFirst()) ?? null,
}

export const webhookSecrets: readonly SealedColumns[] = [
  { table: 'webhook_endpoints', columns: ['secret', 'previous_secret'] },
  { table: 'webhook_endpoint_secrets', columns: ['sealed_secret'] },
]
