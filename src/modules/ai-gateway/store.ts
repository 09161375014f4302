import { type ColumnType, type Generated, type Selectable, type Updateable, sql } from 'kysely'
import type { z } from 'zod'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { DataPolicy, Shape } from '#gateway/model/offer.ts'
import type { Id } from '#core/ids.ts'
import type { Span } from '#core/time.ts'
import type { EndpointModel as EndpointModelSchema } from './contract-endpoints.ts'

export type EndpointModel = z.output<typeof EndpointModelSchema>

declare module '#infra/postgres/tables.ts' {
  interface Database {
    provider_endpoints: ProviderEndpointTable
  }
}

interface ProviderEndpointTable {
  id: Id
  account_id: Id | null
  workspace_id: Id | null
  owner_id: Id
  slug: string
  name: string
  preset: string | null
  shape: Shape
  base_url: string
  sealed_key: string | null
  api_key_last4: string | null
  sealed_headers: string | null
  header_names: string[]
  models: ColumnType<EndpointModel[], string, string>
  enabled: boolean
  priority: number
  weight: number
  data_policy: ColumnType<DataPolicy, DataPolicy | undefined, DataPolicy>
  /** Replaced when the address, shape, key or headers change. */
  connection: Id
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type EndpointRow = Selectable<ProviderEndpointTable>
export type EndpointChanges = Updateable<ProviderEndpointTable>

export const INSTANCE: Id = '0'.repeat(26)

export const endpointStore = {
  get: (db: Db, id: Id): Promise<EndpointRow | undefined> =>
    db.selectFrom('provider_endpoints').selectAll().where('id', '=', id).executeTakeFirst(),

  byConnection: (db: Db, connection: Id): Promise<EndpointRow | undefined> =>
    db.selectFrom('provider_endpoints').selectAll().where('connection', '=', connection).executeTakeFirst(),

  getForUpdate: (db: Db, id: Id): Promise<EndpointRow | undefined> =>
    db.selectFrom('provider_endpoints').selectAll().where('id', '=', id).forUpdate().executeTakeFirst(),

  list: (
    db: Db,
    owners: readonly Id[],
    { enabled, before, limit }: { enabled: boolean | undefined; before: Id | null; limit: number },
  ): Promise<EndpointRow[]> =>
    db
      .selectFrom('provider_endpoints')
      .selectAll()
      .where('owner_id', 'in', owners.length > 0 ? owners : [''])
      .$if(enabled !== undefined, (query) => query.where('enabled', '=', enabled!))
      .$call(newestFirst('id', before, limit))
      .execute(),

  enabledOf: (db: Db, owner: Id): Promise<EndpointRow[]> =>
    db
      .selectFrom('provider_endpoints')
      .selectAll()
      .where('owner_id', '=', owner)
      .where('enabled', '=', true)
      .orderBy('id')
      .execute(),

  /** Takes a lock, so concurrent creations can't exceed the limit. */
  async countForCreate(db: Db, owner: Id): Promise<number> {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`provider_endpoints ${owner}`}, 0))`.execute(db)
    const { count } = await db
      .selectFrom('provider_endpoints')
      .select((query) => query.fn.countAll<bigint>().as('count'))
      .where('owner_id', '=', owner)
      .executeTakeFirstOrThrow()
    return Number(count)
  },

  insert: (db: Db, { models, ...row }: Omit<EndpointRow, 'created_at' | 'updated_at'>): Promise<EndpointRow> =>
    db
      .insertInto('provider_endpoints')
      .values({ ...row, models: JSON.stringify(models) })
      .returningAll()
      .executeTakeFirstOrThrow(),

  update: (db: Db, id: Id, changes: EndpointChanges): Promise<EndpointRow> =>
    db
      .updateTable('provider_endpoints')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),

  /** Disables endpoints the account created in this time, for itself or for workspaces without another admin. */
  async disableOf(db: Db, accountId: Id, { from, until }: Span): Promise<EndpointRow[]> {
    const { rows } = await sql<EndpointRow>`update provider_endpoints e set enabled = false, updated_at = ${nextTime}
      where e.enabled and e.created_at between ${from} and ${until} and (e.account_id = ${accountId}
        or e.workspace_id is not null and e.created_by = ${accountId} and not exists (select from members m
          where m.workspace_id = e.workspace_id and m.account_id <> ${accountId} and m.role in ('admin', 'owner')))
      returning e.*`.execute(db)
    return rows
  },

  delete: (db: Db, id: Id): Promise<unknown> => db.deleteFrom('provider_endpoints').where('id', '=', id).execute(),

  sealedAfter: (
    db: Db,
    after: Id,
    limit: number,
  ): Promise<Pick<EndpointRow, 'id' | 'sealed_key' | 'sealed_headers'>[]> =>
    db
      .selectFrom('provider_endpoints')
      .select(['id', 'sealed_key', 'sealed_headers'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute(),

  /** Replaces a sealed secret only if it's still `before`. `updated_at` stays, because nothing changed for readers. */
  async reseal(db: Db, id: Id, column: 'sealed_key' | 'sealed_headers', before: string, now: string): Promise<void> {
    await db
      .updateTable('provider_endpoints')
      .set({ [column]: now })
      .where('id', '=', id)
      .where(column, '=', before)
      .execute()
  },
}
