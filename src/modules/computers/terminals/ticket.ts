import type { Context, Engine } from '#infra/context.ts'
import type { Input } from '#core/contract.ts'
import { type Id, parseId } from '#core/ids.ts'
import { refuse } from '#core/errors.ts'
import type { TicketHolder } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import type { terminal_ticket as endpoint } from '../contract-terminals.ts'
import { ticketStore } from '../tickets/store.ts'
import { holderOf, makeTicket } from '../tickets/tickets.ts'

export async function terminalTicket(ctx: Context, { id, terminal_id }: Input<typeof endpoint>) {
  const { ticket, expiresAt } = await makeTicket(ctx, { computerId: id, terminalId: terminal_id })
  const path = `/v1/computers/${id}/terminals/${encodeURIComponent(terminal_id)}/attach`
  return { url: `${ctx.engine.origin().replace(/^http/, 'ws')}${path}?ticket=${ticket}`, expires_at: iso(expiresAt) }
}

export async function redeemTicket(
  engine: Engine,
  [computer = '', terminalId = '']: readonly string[],
  ticket: string,
): Promise<TicketHolder> {
  const computerId: Id | null = parseId(computer)
  const place = computerId === null ? null : { computerId, terminalId }
  const token = place !== null && FORM.test(ticket) ? await ticketStore.redeem(engine.postgres.db, place, ticket) : null
  if (place === null || token === null)
    return refuse('link_expired', { message: 'This ticket was already used or has expired. Create a new one.' })
  const find = async (): Promise<NonNullable<Awaited<ReturnType<typeof holderOf>>>> => {
    const holder = await holderOf(engine, place, token, never)
    return holder && holder.until > new Date() ? holder : refuse('session_expired', { message: ENDED })
  }
  const { until } = await find()
  return { until, principal: async () => (await find()).principal }
}

const FORM = /^[0-9A-Za-z]{43}$/
const never = new AbortController().signal
const ENDED = 'The session or key that created this ticket is no longer valid.'
