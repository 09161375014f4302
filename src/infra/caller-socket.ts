import type { WebSocket } from 'ws'
import type { Finder } from '#core/context.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import type { TicketHolder } from '#core/principal.ts'
import type { Context, Engine } from './context.ts'

/**
 * A WebSocket endpoint for callers. Access is checked before the handshake as for any endpoint, including errors from
 * `open`. While open, the caller's access is rechecked like a stream's.
 */
export interface CallerSocket<H = unknown> {
  name: string
  /** The GET endpoint for the upgrade. Its `reply` is ignored. */
  endpoint: AnyEndpoint
  finder: Finder<Context<H>>
  open(ctx: Context<H>, input: any): Promise<(socket: WebSocket) => void>
  /**
   * Redeems the query's `ticket` in place of a credential, because browsers can't send headers with WebSockets. Uses up
   * the ticket and returns its holder; throws 410. `values`: path parameters.
   */
  redeem?(engine: Engine<H>, values: readonly string[], ticket: string): Promise<TicketHolder>
}
