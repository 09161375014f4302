import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'

export interface Ways {
  password: boolean
  passkeys: number
  identities: number
}

/** Locks the account, so two concurrent removals can't take the last two methods. */
export async function waysOf(db: Db, accountId: Id): Promise<Ways> {
  await sql`select from accounts where id = ${accountId} for no key update`.execute(db)
  const { rows } = await sql<Ways>`select
      (select password_hash is not null from accounts where id = ${accountId}) as password,
      (select count(*)::int from passkeys where account_id = ${accountId}) as passkeys,
      (select count(*)::int from identities where account_id = ${accountId}) as identities`.execute(db)
  return rows[0]!
}

/** Call it in the transaction that removes the method. */
export async function checkAnotherWay(ctx: Context, taking: 'passkeys' | 'identities'): Promise<void> {
  const ways = await waysOf(ctx.db, ctx.principal.accountId)
  // Identities are useless without a configured identity provider.
  const identities = ctx.engine.config.oidc === null ? 0 : ways.identities
  const remainingWays = Number(ways.password) + ways.passkeys + identities - 1
  if (
    remainingWays < 1 ||
    (taking === 'identities' && ctx.engine.config.oidc === null && !ways.password && ways.passkeys === 0)
  )
    refuse('invalid_state', {
      message: 'This is your last way to sign in. Set a password or add a passkey first.',
    })
}
