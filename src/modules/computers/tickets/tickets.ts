/** For clients that can't send credentials: pages and WebSockets in browsers. */
import type { Context, Engine } from '#infra/context.ts'
import { behalfOf, type Principal } from '#core/principal.ts'
import { scopes } from '#core/scopes.ts'
import { type Place, ticketStore } from './store.ts'

const TICKET_SECONDS = 60
const ENTERED_SECONDS = 12 * 3_600

/** Creates a single-use ticket. Access ends with the caller's credential. */
export async function makeTicket(ctx: Context, place: Place): Promise<{ ticket: string; expiresAt: Date }> {
  const { credential } = ctx.principal
  const now = ctx.now().getTime()
  const expiresAt = new Date(now + TICKET_SECONDS * 1_000)
  const maxEnd = now + ENTERED_SECONDS * 1_000
  // A used session is extended. Its end revokes this ticket.
  const ends = credential.kind === 'key' && credential.expiresAt !== null ? credential.expiresAt.getTime() : maxEnd
  const ticket = await ticketStore.add(ctx.db, place, {
    ...behalfOf(ctx.principal),
    session_id: credential.kind === 'session' ? credential.id : null,
    lenders: credential.kind === 'server' ? (credential.lenders ?? []) : [],
    expires_at: expiresAt,
    ends_at: new Date(Math.min(maxEnd, ends)),
  })
  return { ticket, expiresAt }
}

/** Returns the holder with current permissions. Null: expired. */
export async function holderOf(
  engine: Engine,
  place: Place,
  token: string,
  signal: AbortSignal,
): Promise<{ principal: Principal; until: Date } | null> {
  const row = await ticketStore.entered(engine.postgres.db, place, token)
  const ctx =
    row &&
    (await engine.actAs({
      accountId: row.account_id,
      scopes: row.scopes ?? scopes,
      workspaceId: row.held_to,
      payingKeyId: row.key_id,
      lenders: row.lenders,
      signal,
    }))
  return ctx && { principal: ctx.principal, until: row.ends_at }
}
