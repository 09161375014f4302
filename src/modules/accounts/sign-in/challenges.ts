import { hash, randomBytes } from 'node:crypto'
import { type Generated, sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    sign_in_challenges: {
      hash: Buffer
      purpose: Purpose
      account_id: Id | null
      sealed: string | null
      expires_at: Date
      created_at: Generated<Date>
    }
  }
}

export type Purpose =
  | 'passkey.register'
  | 'passkey.sign_in'
  | 'passkey.prove'
  | 'identity.sign_in'
  | 'identity.link'
  | 'recovery'

export interface Challenge {
  /** 256 random bits. Only the hash is stored. */
  token: string
  expiresAt: Date
}

export interface RedeemedChallenge {
  accountId: Id | null
  payload: unknown
}

const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer')

/** Creates a challenge that any process can redeem within `seconds`. `payload` is sealed until then. */
export async function makeChallenge(
  { db, now, engine: { secrets } }: Pick<Context, 'db' | 'now' | 'engine'>,
  purpose: Purpose,
  { accountId, seconds, payload }: { accountId: Id | null; seconds: number; payload?: unknown },
): Promise<Challenge> {
  const token = randomBytes(32).toString('base64url')
  const expiresAt = new Date(now().getTime() + seconds * 1000)
  await db
    .insertInto('sign_in_challenges')
    .values({
      hash: hashOf(token),
      purpose,
      account_id: accountId,
      sealed: payload === undefined ? null : secrets.seal(JSON.stringify(payload), hashOf(token).toString('base64url')),
      expires_at: expiresAt,
    })
    .execute()
  return { token, expiresAt }
}

/** Redeems a challenge once. Null: unknown, used or expired. */
export async function takeChallenge(
  { db, now, engine: { secrets } }: Pick<Context, 'db' | 'now' | 'engine'>,
  purpose: Purpose,
  token: string,
): Promise<RedeemedChallenge | null> {
  const row = await db
    .deleteFrom('sign_in_challenges')
    .where('hash', '=', hashOf(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now())
    .returning(['account_id', 'sealed'])
    .executeTakeFirst()
  if (!row) return null
  const payload: unknown =
    row.sealed === null ? undefined : JSON.parse(secrets.open(row.sealed, hashOf(token).toString('base64url')))
  return { accountId: row.account_id, payload }
}

export const challengeStore = {
  async count(db: Db, purpose: Purpose, accountId: Id, since: Date): Promise<number> {
    const { count } = await db
      .selectFrom('sign_in_challenges')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('purpose', '=', purpose)
      .where('account_id', '=', accountId)
      .where('created_at', '>', since)
      .executeTakeFirstOrThrow()
    return count
  },
  async forget(db: Db, purpose: Purpose, accountId: Id): Promise<void> {
    await db
      .deleteFrom('sign_in_challenges')
      .where('purpose', '=', purpose)
      .where('account_id', '=', accountId)
      .execute()
  },
  async retain(db: Db): Promise<void> {
    await db
      .deleteFrom('sign_in_challenges')
      .where('expires_at', '<', sql<Date>`now()`)
      .execute()
  },
}
