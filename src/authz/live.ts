import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'

/**
 * Throws if the caller's session has ended or its key was revoked, which this process may not know yet. Used first in
 * transactions whose writes outlive the session: an account takeover locks the session, so it either sees those writes
 * or this finds the session ended.
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
