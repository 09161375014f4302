import type { Dispatcher } from 'undici'
import type { Outbound } from '#infra/http-client/outbound.ts'
import type { Send } from '#infra/http-client/send.ts'
import type { Upstream } from './upstream.ts'
import type { ProviderRequest } from '../model/offer.ts'

/** Sends a request of the upstream's shape by its own way, in its wrapping where it has one. What goes wrong arrives at the handler. */
export function dispatch(
  outbound: Outbound,
  { transport, dispatch: own }: Upstream,
  send: Send,
  asked: ProviderRequest,
  handler: Dispatcher.DispatchHandler,
): void {
  if (own !== null) return own(send, asked, handler)
  if (transport === null) return outbound.dispatch(send, handler)
  const failed = (error: unknown): void => handler.onResponseError?.(NONE, error as Error)
  const go = (carried: Send): void => outbound.dispatch(carried, transport.unwrap?.(handler) ?? handler)
  try {
    const carried = transport.wrap(inOne(send), asked, outbound)
    if (carried instanceof Promise) carried.then(go).catch(failed)
    else go(carried)
  } catch (error) {
    failed(error)
  }
}

/** The request with its whole body in `body`: one that is wrapped or signed is looked at whole. */
function inOne({ lead = '', body, ...rest }: Send): Send {
  return { ...rest, body: lead === '' ? body : Buffer.concat([Buffer.from(lead, 'latin1'), Buffer.from(body ?? '')]) }
}

/** The controller for a caller whose request never left. */
const NONE: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  pause() {},
  resume() {},
  abort() {},
}
