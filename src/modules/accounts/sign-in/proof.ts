import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { accountStore, sessionStore } from '../store.ts'

/** The time for which a password or passkey, once shown, allows adding and removing ways to sign in. */
const PROOF_SECONDS = 600

/** The session of the call. */
export function sessionId({ principal: { credential } }: Context): string {
  if (credential.kind !== 'session') return refuse('cookie_session_required')
  return credential.id
}

/** Refuses with 403 where nobody has shown lately, in this session, that they are who has the account. */
export async function requireProof(ctx: Context): Promise<void> {
  const session = (await sessionStore.get(ctx.db, ctx.principal.accountId, sessionId(ctx))) ?? refuse('session_expired')
  if (session.proved_at !== null && session.proved_at.getTime() > ctx.now().getTime() - PROOF_SECONDS * 1000) return
  refuse('proof_required')
}

/** The same, with the account held: of two that add a way in at once each sees the other, and what ended the session before. */
export async function requireProofAlone(ctx: Context): Promise<void> {
  await accountStore.lock(ctx.db, ctx.principal.accountId)
  await requireProof(ctx)
}

export async function noteProof(ctx: Context): Promise<Date> {
  const { rows } = await sql<{ proved_at: Date }>`update sessions set proved_at = now()
    where id = ${sessionId(ctx)} and account_id = ${ctx.principal.accountId} returning proved_at`.execute(ctx.db)
  return rows[0]?.proved_at ?? refuse('session_expired')
}

export const provedUntil = (provedAt: Date): Date => new Date(provedAt.getTime() + PROOF_SECONDS * 1000)
