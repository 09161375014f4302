import { hash } from 'node:crypto'
import { type Generated, type Selectable, sql } from 'kysely'
import type { Secrets } from '#infra/secrets.ts'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { SealedColumns } from '#infra/reseal.ts'
import type { Id } from '#core/ids.ts'
import { shorten } from '#core/text/shorten.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    push_subscriptions: PushTable
  }
}
interface PushTable {
  id: Id
  account_id: Id
  endpoint_hash: Buffer
  /** Encrypted, like the keys. */
  endpoint: string
  keys: string
  user_agent: string | null
  /** The session or API key that created the subscription, which ends with it. */
  session_id: Id | null
  key_id: Id | null
  last_success_at: Date | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type PushRow = Selectable<PushTable>

export interface PushKeys {
  p256dh: string
  auth: string
}

export interface Subscription {
  id: Id
  endpoint: string
  keys: PushKeys
}

export const openSubscription = (secrets: Secrets, { id, endpoint, keys }: PushRow): Subscription => ({
  id,
  endpoint: secrets.open(endpoint, id),
  keys: JSON.parse(secrets.open(keys, id)) as PushKeys,
})

export const pushSecrets: readonly SealedColumns[] = [{ table: 'push_subscriptions', columns: ['endpoint', 'keys'] }]

export const pushStore = {
  /**
   * A browser that subscribes again keeps its ID. If another account had it, the subscription changes owner, since
   * a browser has one at a time.
   */
  save: async (
    db: Db,
    secrets: Secrets,
    {
      id: fresh,
      accountId,
      endpoint,
      keys,
      userAgent,
      sessionId,
      keyId,
    }: {
      id: Id
      accountId: Id
      endpoint: string
      keys: PushKeys
      userAgent: string | null
      sessionId: Id | null
      keyId: Id | null
    },
  ): Promise<PushRow> => {
    const endpoint_hash = hash('sha256', endpoint, 'buffer')
    // The same browser may be registered concurrently, even by two people.
    await sql`select pg_advisory_xact_lock(${endpoint_hash.readBigInt64BE(0)})`.execute(db)
    const known = await db
      .selectFrom('push_subscriptions')
      .selectAll()
      .where('endpoint_hash', '=', endpoint_hash)
      .forUpdate()
      .executeTakeFirst()
    const id = known?.id ?? fresh
    const sealed = {
      endpoint: secrets.seal(endpoint, id),
      keys: secrets.seal(JSON.stringify(keys), id),
      user_agent: userAgent === null ? null : shorten(userAgent, 300),
      account_id: accountId,
      session_id: sessionId,
      key_id: keyId,
    }
    return db
      .insertInto('push_subscriptions')
      .values({ id, endpoint_hash, last_success_at: null, ...sealed })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ ...sealed, updated_at: sql<Date>`clock_timestamp()` }),
      )
      .returningAll()
      .executeTakeFirstOrThrow()
  },

  find: async (db: Db, id: Id, accountId: Id): Promise<PushRow | null> =>
    (await db
      .selectFrom('push_subscriptions')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst()) ?? null,

  /**
   * Subscriptions of active sessions and keys. Expired ones are removed within the hour, or stay as rows that
   * receive nothing.
   */
  list: (db: Db, accountId: Id, before: Id | null, limit: number): Promise<PushRow[]> =>
    db
      .selectFrom('push_subscriptions')
      .selectAll()
      .where('account_id', '=', accountId)
      .where(
        sql<boolean>`(session_id is null or exists (select from sessions s where s.id = session_id and s.expires_at > now()))`,
      )
      .where(
        sql<boolean>`(key_id is null or exists (select from api_keys k
          where k.id = key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())))`,
      )
      .$call(newestFirst('id', before, limit))
      .execute(),

  succeeded: async (db: Db, id: Id): Promise<void> => {
    await db
      .updateTable('push_subscriptions')
      .set({ last_success_at: sql<Date>`now()`, updated_at: nextTime })
      .where('id', '=', id)
      .execute()
  },

  /** Deletes subscriptions of revoked and expired keys. A session's are deleted with it. */
  retain: async (db: Db): Promise<void> => {
    await sql`delete from push_subscriptions p using api_keys k
      where k.id = p.key_id and (k.revoked_at is not null or k.expires_at < now())`.execute(db)
  },

  delete: async (db: Db, id: Id): Promise<void> => {
    await db.deleteFrom('push_subscriptions').where('id', '=', id).execute()
  },
}
