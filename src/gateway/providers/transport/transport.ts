import type { Dispatcher } from 'undici'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Send } from '#packages/http-client/send.ts'
import type { UpstreamFault } from '../../model/canonical-request.ts'
import type { ProviderRequest } from '../../model/offer.ts'
import { notAName, segmentOf } from '../../wire/path-name.ts'

/**
 * Carries requests of a known shape to a provider with a different protocol: other paths, signatures, tokens, or stream
 * framing. Readers of the answer see the plain shape.
 */
export interface Transport {
  wrap(send: Send, request: ProviderRequest, outbound: Outbound): Send | Promise<Send>
  unwrap?(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler
  losses?(json: Record<string, unknown>, headers: Readonly<Record<string, unknown>>): string[]
}

/** Thrown if a request can't be wrapped, or its computer disconnected. */
export class TransportFailed extends Error {
  override name = 'CarryFailed'
  readonly fault: UpstreamFault
  constructor(fault: UpstreamFault) {
    super(fault.message)
    this.fault = fault
  }
}

/** Throws `TransportFailed` if the name would lead to another path. */
export function modelInPath(model: string): string {
  const segment = segmentOf(model)
  if (segment === null) throw new TransportFailed({ kind: 'model_not_found', message: notAName('model', model) })
  return segment
}

/** Endpoint settings, stored in `headers` as `x-uk-…` and never sent. */
export const ENDPOINT_SETTING = /^x-uk-/

export function headerIn(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.toLowerCase() === name) return headers[i + 1]
  return undefined
}

export const forwardingHandler = (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler => ({
  onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
  onResponseStart: (controller, status, headers, message) =>
    handler.onResponseStart?.(controller, status, headers, message),
  onResponseData: (controller, bytes) => handler.onResponseData?.(controller, bytes),
  onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
  onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
})
