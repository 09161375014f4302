import { type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    api_keys: ApiKeyTable
  }
}

export interface ApiKeyTable {
  id: Id
  account_id: Id
  workspace_id: Id | null
  name: string
  scopes: string[]
  version: string
  key_hash: Buffer
  prefix: string
  last4: string
  previous_hash: Buffer | null
  previous_expires_at: Date | null
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  spend_cap_nano: Nano | null
  spend_cap_period: 'day' | 'week' | 'month' | 'total'
  allowed_models: string[] | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type ApiKeyRow = Selectable<ApiKeyTable>
type New = Omit<
  ApiKeyRow,
  'created_at' | 'updated_at' | 'previous_hash' | 'previous_expires_at' | 'revoked_at' | 'last_used_at'
>

const isExpired = sql<boolean>`coalesce(expires_at <= now(), false)`

export const apiKeyStore = {
  list: (
    db: Db,
    whose: { accountId: Id } | { workspaceId: Id; accountId: Id | null },
    status: 'active' | 'revoked' | 'expired' | undefined,
    before: Id | null,
    limit: number,
  ): Promise<ApiKeyRow[]> =>
    db
      .selectFrom('api_keys')
      .selectAll()
      .$if(whose.accountId !== null, (query) => query.where('account_id', '=', whose.accountId!))
      .$if('workspaceId' in whose, (query) =>
        query.where('workspace_id', '=', (whose as { workspaceId: Id }).workspaceId),
      )
      .$if(status === 'revoked', (query) => query.where('revoked_at', 'is not', null))
      .$if(status === 'active', (query) => query.where('revoked_at', 'is', null).where(isExpired, '=', false))
      .$if(status === 'expired', (query) => query.where('revoked_at', 'is', null).where(isExpired, '=', true))
      .$call(newestFirst('id', before, limit))
      .execute(),

  /**
   * Counts the account's active keys. Locks the account's row, so concurrent creations are counted one after the
   * other.
   */
  async countForCreate(db: Db, accountId: Id): Promise<number> {
    await db.selectFrom('accounts').select('id').where('id', '=', accountId).forUpdate().execute()
    const { count } = await db
      .selectFrom('api_keys')
      .select((query) => query.fn.countAll<bigint>().as('count'))
      .where('account_id', '=', accountId)
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow()
    return Number(count)
  },

  insert: (db: Db, row: New): Promise<ApiKeyRow> =>
    db
      .insertInto('api_keys')
      .values({ ...row, previous_hash: null, previous_expires_at: null, revoked_at: null, last_used_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),

  nameOf: async (db: Db, id: Id): Promise<string | undefined> =>
    (await db.selectFrom('api_keys').select('name').where('id', '=', id).executeTakeFirst())?.name,

  getForUpdate: (db: Db, id: Id): Promise<ApiKeyRow | undefined> =>
    db.selectFrom('api_keys').selectAll().where('id', '=', id).forUpdate().executeTakeFirst(),

  update: (db: Db, id: Id, changes: Updateable<ApiKeyTable>): Promise<ApiKeyRow> =>
    db
      .updateTable('api_keys')
      .set({ ...changes, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),

  revokeAll: (db: Db, by: 'workspace_id' | 'account_id', id: Id): Promise<ApiKeyRow[]> =>
    db
      .updateTable('api_keys')
      .set({ revoked_at: sql<Date>`now()`, updated_at: nextTime })
      .where(by, '=', id)
      .where('revoked_at', 'is', null)
      .returningAll()
      .execute(),

  capped: (
    db: Db,
    hours: number,
  ): Promise<Pick<ApiKeyRow, 'id' | 'account_id' | 'name' | 'spend_cap_nano' | 'spend_cap_period'>[]> =>
    db
      .selectFrom('api_keys')
      .select(['id', 'account_id', 'name', 'spend_cap_nano', 'spend_cap_period'])
      .where('spend_cap_nano', 'is not', null)
      .where('revoked_at', 'is', null)
      .where('last_used_at', '>', sql<Date>`now() - make_interval(hours => ${hours})`)
      .execute(),
}
