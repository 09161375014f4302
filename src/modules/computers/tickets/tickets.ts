/** Tickets for those that can send no credential: a browser that opens a port, a page that opens a WebSocket. */
import type { Context, Engine } from '#infra/context.ts'
import { behalfOf, type Principal } from '#core/principal.ts'
import { scopes } from '#core/scopes.ts'
import { type Place, ticketStore } from './store.ts'

const TICKET_SECONDS = 60
const ENTERED_SECONDS = 12 * 3_600

/** Makes one in the caller's name: good once, within a minute; what it opens, no longer than the caller's credential. */
export async function makeTicket(ctx: Context, place: Place): Promise<{ ticket: string; expiresAt: Date }> {
  const { credential } = ctx.principal
  const now = ctx.now().getTime()
  const expiresAt = new Date(now + TICKET_SECONDS * 1_000)
  const most = now + ENTERED_SECONDS * 1_000
  // A session goes on while it is used; its end takes this along.
  const ends = credential.kind === 'key' && credential.expiresAt !== null ? credential.expiresAt.getTime() : most
  const ticket = await ticketStore.add(ctx.db, place, {
    ...behalfOf(ctx.principal),
    session_id: credential.kind === 'session' ? credential.id : null,
    lenders: credential.kind === 'server' ? (credential.lenders ?? []) : [],
    expires_at: expiresAt,
    ends_at: new Date(Math.min(most, ends)),
  })
  return { ticket, expiresAt }
}

/** The holder of a redeemed ticket, with their rights as they are now, and its end. Null: it has ended. */
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
