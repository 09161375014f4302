import { randomBytes } from 'node:crypto'
import type { Context } from '#infra/context.ts'
import { rightsChanged } from '#authz/rights.ts'
import { hashSecret } from '#authz/api-key.ts'
import { newId } from '#core/ids.ts'
import { type SessionRow, sessionStore } from '../store.ts'

export const SESSION_IDLE_SECONDS = 14 * 86_400
export const SESSION_MAX_SECONDS = 90 * 86_400
export const MAX_SESSIONS = 100

/** Ends the oldest session above the limit. `proved`: starts with a password or passkey check. */
export async function startSession(
  ctx: Context,
  accountId: string,
  { proved = true, identityId = null }: { proved?: boolean; identityId?: string | null } = {},
): Promise<SessionRow> {
  // 256 random bits. Only the hash is stored.
  const token = randomBytes(32).toString('base64url')
  const expiresAt = new Date(ctx.now().getTime() + SESSION_MAX_SECONDS * 1000)
  const row = await sessionStore.insert(ctx.db, {
    id: newId(),
    account_id: accountId,
    token_hash: hashSecret(token),
    user_agent: ctx.caller.userAgent,
    ip: ctx.caller.ip,
    expires_at: expiresAt,
    proved_at: proved ? ctx.now() : null,
    identity_id: identityId,
  })
  if (await sessionStore.trim(ctx.db, accountId, MAX_SESSIONS)) {
    // Other processes still have the ended session cached.
    await rightsChanged(ctx.db, [accountId])
    ctx.afterCommit(() => void ctx.engine.rights.refresh())
  }
  ctx.answer.session = { token, expiresAt }
  return row
}
