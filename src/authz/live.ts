import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'

/**
 * Refuses what is asked by a session that has ended or a key that was revoked, of which this process may not know yet.
 * What stays when they are gone asks so, first in its transaction: whoever takes the account over has it locked meanwhile,
 * and either finds what was written here, or this finds the session gone.
 */
export async function checkLive({ db, principal }: Context): Promise<void> {
  const { credential, accountId } = principal
  if (credential.kind === 'server') return
  await sql`select from accounts where id = ${accountId} for no key update`.execute(db)
  const { rows } =
    credential.kind === 'session'
      ? await sql`select from sessions where id = ${credential.id}`.execute(db)
      : await sql`select from api_keys where id = ${credential.id} and revoked_at is null`.execute(db)
  if (rows.length === 0) refuse(credential.kind === 'session' ? 'session_expired' : 'revoked_api_key')
}
