import type { Dispatcher } from 'undici'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Send } from '#packages/http-client/send.ts'
import type { Upstream } from './upstream.ts'
import type { ProviderRequest } from '../model/offer.ts'

export function dispatch(
  outbound: Outbound,
  { transport, dispatch: own }: Upstream,
  send: Send,
  request: ProviderRequest,
  handler: Dispatcher.DispatchHandler,
): void {
  if (own !== null) return own(send, request, handler)
  if (transport === null) return outbound.dispatch(send, handler)
  const fail = (error: unknown): void => handler.onResponseError?.(NONE, error as Error)
  const go = (sendNow: Send): void => outbound.dispatch(sendNow, transport.unwrap?.(handler) ?? handler)
  try {
    const wrapped = transport.wrap(inOne(send), request, outbound)
    if (wrapped instanceof Promise) wrapped.then(go).catch(fail)
    else go(wrapped)
  } catch (error) {
    fail(error)
  }
}

/** Joins the body, because a transport wraps or signs it as a whole. */
function inOne({ lead = '', body, ...rest }: Send): Send {
  return { ...rest, body: lead === '' ? body : Buffer.concat([Buffer.from(lead, 'latin1'), Buffer.from(body ?? '')]) }
}

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
