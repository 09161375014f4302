import type { WebSocket } from 'ws'
import type { Finder } from '#core/context.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import type { TicketHolder } from '#core/principal.ts'
import type { Context, Engine } from './context.ts'

/**
 * An address that a caller speaks with over a WebSocket. Who may is decided as for any endpoint, by key or session, before
 * the handshake; so is what `open` refuses. While it is open the caller's rights are looked at as those of a stream.
 */
export interface CallerSocket<H = unknown> {
  /** `computers.attach`: in metrics and the log. */
  name: string
  /** The GET endpoint that opens the WebSocket. Its `reply` is not looked at. */
  endpoint: AnyEndpoint
  finder: Finder<Context<H>>
  /** Answers what speaks on the socket once it stands. `ctx.signal` fires when it closes, for whatever reason. */
  // Variance: each takes its own input.
  open(ctx: Context<H>, input: any): Promise<(socket: WebSocket) => void>
  /**
   * Redeems the `ticket` of the query, which stands for a credential: the WebSockets of pages send no headers.
   * Uses the ticket up and answers who holds it; refuses with 410. `values` are the parameters of the path.
   */
  redeem?(engine: Engine<H>, values: readonly string[], ticket: string): Promise<TicketHolder>
}
