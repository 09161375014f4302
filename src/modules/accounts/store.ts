import type { Generated, Selectable } from 'kysely'
import { sql } from 'kysely'
import { nextTime, type Db } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Tier } from '#core/principal.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    accounts: AccountTable
    sessions: SessionTable
    login_failures: { subject: string; tokens: number; at: Generated<Date> }
  }
}

interface AccountTable {
  id: Id
  email: string
  email_verified_at: Date | null
  name: string
  password_hash: string | null
  tier: Tier
  administrator: boolean
  personal_workspace_id: Id
  settings: unknown
  /** Sign-up credits that wait for a verified address. */
  promised_nano: Nano | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type AccountRow = Selectable<AccountTable>

interface SessionTable {
  id: Id
  account_id: Id
  token_hash: Buffer
  user_agent: string | null
  ip: string | null
  last_used_at: Date | null
  expires_at: Date
  proved_at: Date | null
  identity_id: Id | null
  created_at: Generated<Date>
}
export type SessionRow = Selectable<SessionTable>

export const accountStore = {
  // The lock ensures that only one of two first sign-ups is first.
  async lockFirst(db: Db): Promise<boolean> {
    await sql`select pg_advisory_xact_lock(7520202)`.execute(db)
    return (await db.selectFrom('accounts').select('id').limit(1).executeTakeFirst()) === undefined
  },
  insert: (db: Db, row: Omit<AccountRow, 'created_at' | 'updated_at' | 'settings'>): Promise<AccountRow> =>
    db
      .insertInto('accounts')
      .values({ ...row, settings: '{}' })
      .returningAll()
      .executeTakeFirstOrThrow(),
  byEmail: (db: Db, email: string): Promise<AccountRow | undefined> =>
    db
      .selectFrom('accounts')
      .selectAll()
      .where(sql`lower(email)`, '=', email.toLowerCase())
      .executeTakeFirst(),
  byName: (db: Db, name: string): Promise<AccountRow[]> =>
    db
      .selectFrom('accounts')
      .selectAll()
      .where(sql`lower(name)`, '=', name.toLowerCase())
      .orderBy('id')
      .limit(10)
      .execute(),
  get: (db: Db, id: Id): Promise<AccountRow | undefined> =>
    db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst(),
  lock: (db: Db, id: Id): Promise<AccountRow> =>
    db.selectFrom('accounts').selectAll().where('id', '=', id).forUpdate().executeTakeFirstOrThrow(),
  setPassword: (db: Db, id: Id, password_hash: string): Promise<AccountRow> =>
    db
      .updateTable('accounts')
      .set({ password_hash, updated_at: nextTime })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),
  /** Returns the promised credits, once. */
  async verifyEmail(db: Db, id: Id): Promise<Nano | null> {
    const { rows } = await sql<{ promised_nano: Nano | null }>`with held as (
        select id, promised_nano from accounts where id = ${id} and email_verified_at is null for update)
      update accounts a set email_verified_at = now(), promised_nano = null, updated_at = ${nextTime}
      from held where a.id = held.id returning held.promised_nano`.execute(db)
    return rows[0]?.promised_nano ?? null
  },
  /** Undefined: the row changed since `unchangedSince`. */
  mergeSettings: (db: Db, id: Id, changes: object, unchangedSince: Date | null): Promise<AccountRow | undefined> =>
    db
      .updateTable('accounts')
      .set({ settings: sql`settings || ${JSON.stringify(changes)}::jsonb`, updated_at: nextTime })
      .where('id', '=', id)
      .$if(unchangedSince !== null, (query) => query.where('updated_at', '=', unchangedSince!))
      .returningAll()
      .executeTakeFirst(),
}

export const sessionStore = {
  insert: (db: Db, row: Omit<SessionRow, 'created_at' | 'last_used_at'>): Promise<SessionRow> =>
    db
      .insertInto('sessions')
      .values({ ...row, last_used_at: null })
      .returningAll()
      .executeTakeFirstOrThrow(),
  get: (db: Db, accountId: Id, id: Id): Promise<SessionRow | undefined> =>
    db.selectFrom('sessions').selectAll().where('id', '=', id).where('account_id', '=', accountId).executeTakeFirst(),
  list: (db: Db, accountId: Id, before: Id | null, limit: number): Promise<SessionRow[]> =>
    db
      .selectFrom('sessions')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('expires_at', '>', sql<Date>`now()`)
      .$call(newestFirst('id', before, limit))
      .execute(),
  /** Returns whether there were more. */
  async trim(db: Db, accountId: Id, keep: number): Promise<boolean> {
    const { numDeletedRows } = await db
      .deleteFrom('sessions')
      .where('id', 'in', (query) =>
        query
          .selectFrom('sessions')
          .select('id')
          .where('account_id', '=', accountId)
          .orderBy('id', 'desc')
          .offset(keep),
      )
      .executeTakeFirst()
    return numDeletedRows > 0n
  },
  async end(db: Db, accountId: Id, id: Id): Promise<boolean> {
    const { numDeletedRows } = await db
      .deleteFrom('sessions')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return numDeletedRows > 0n
  },
  async retain(db: Db, idleSeconds: number): Promise<void> {
    await db
      .deleteFrom('sessions')
      .where(
        sql<boolean>`least(expires_at, coalesce(last_used_at, created_at) + make_interval(secs => ${idleSeconds})) < now()`,
      )
      .execute()
  },
  async endStartedWith(db: Db, accountId: Id, identityId: Id, except: Id): Promise<void> {
    await db
      .deleteFrom('sessions')
      .where('account_id', '=', accountId)
      .where('identity_id', '=', identityId)
      .where('id', '!=', except)
      .execute()
  },
  async endOthers(db: Db, accountId: Id, except: Id | null): Promise<void> {
    await db
      .deleteFrom('sessions')
      .where('account_id', '=', accountId)
      .$if(except !== null, (query) => query.where('id', '!=', except!))
      .execute()
  },
}

/**
 * Failed sign-ins as token buckets in the database, shared by all processes. A token is taken before the password is
 * checked and refunded on success.
 */
export const loginStore = {
  async take(db: Db, subject: string, perMinute: number): Promise<boolean> {
    const { rows } = await sql`
      insert into login_failures as f (subject, tokens, at) values (${subject}, ${perMinute - 1}, now())
      on conflict (subject) do update set
        tokens = least(${perMinute}, f.tokens + extract(epoch from now() - f.at) / 60 * ${perMinute}) - 1, at = now()
      where least(${perMinute}, f.tokens + extract(epoch from now() - f.at) / 60 * ${perMinute}) >= 1
      returning 1`.execute(db)
    return rows.length > 0
  },
  /** Buckets refill within a minute, so unused ones can be deleted. */
  async retain(db: Db): Promise<void> {
    await db
      .deleteFrom('login_failures')
      .where('at', '<', sql<Date>`now() - interval '1 hour'`)
      .execute()
  },
  async refund(db: Db, subject: string): Promise<void> {
    await sql`update login_failures set tokens = tokens + 1 where subject = ${subject}`.execute(db)
  },
}
