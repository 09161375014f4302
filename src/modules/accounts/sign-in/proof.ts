import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { accountStore, sessionStore } from '../store.ts'

const PROOF_SECONDS = 600

export function sessionId({ principal: { credential } }: Context): string {
  if (credential.kind !== 'session') return refuse('cookie_session_required')
  return credential.id
}

/** Refuses with 403 unless this session has a recent proof. */
export async function requireProof(ctx: Context): Promise<void> {
  const session = (await sessionStore.get(ctx.db, ctx.principal.accountId, sessionId(ctx))) ?? refuse('session_expired')
  if (session.proved_at !== null && session.proved_at.getTime() > ctx.now().getTime() - PROOF_SECONDS * 1000) return
  refuse('proof_required')
}

/** Locks the account too, so concurrent changes see each other and an ended session. */
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
