import type { Dispatcher } from 'undici'
import type { Outbound } from '#infra/http-client/outbound.ts'
import type { Send } from '#infra/http-client/send.ts'
import type { UpstreamFault } from '../../model/canonical-request.ts'
import type { ProviderRequest } from '../../model/offer.ts'
import { notAName, segmentOf } from '../../wire/path-name.ts'

/**
 * Carries requests of a known shape to a provider that wraps them in something of its own: other paths, signatures, tokens,
 * another framing of streams. Whoever reads the answer sees the plain shape.
 */
export interface Transport {
  wrap(send: Send, asked: ProviderRequest, outbound: Outbound): Send | Promise<Send>
  /** The handler's events with the plain shape's bytes in them. */
  unwrap?(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler
  /** Names of a client's fields, and `anthropic-beta`, that do not get there. */
  losses?(json: Record<string, unknown>, headers: Readonly<Record<string, unknown>>): string[]
}

/** Thrown for a request that failed on its way: it could not be put into its wrapping, or its computer was lost. */
export class TransportFailed extends Error {
  override name = 'CarryFailed'
  readonly fault: UpstreamFault
  constructor(fault: UpstreamFault) {
    super(fault.message)
    this.fault = fault
  }
}

/** The model's name as one segment of a path. Throws `TransportFailed` for one that leads to another path. */
export function named(model: string): string {
  const segment = segmentOf(model)
  if (segment === null) throw new TransportFailed({ kind: 'model_not_found', message: notAName('model', model) })
  return segment
}

/**
 * Settings of an endpoint that are none of the provider's headers: they stand among `headers` under `x-uk-…`, and are
 * never sent.
 */
export const ENDPOINT_SETTING = /^x-uk-/

/** The value of the header with this lower-case name, in a list of name, value, …. */
export function headerIn(headers: readonly string[], wanted: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.toLowerCase() === wanted) return headers[i + 1]
  return undefined
}

/** A handler that hands everything on, to be changed in what a transport has to see. */
export const forwardingHandler = (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler => ({
  onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
  onResponseStart: (controller, status, headers, message) =>
    handler.onResponseStart?.(controller, status, headers, message),
  onResponseData: (controller, bytes) => handler.onResponseData?.(controller, bytes),
  onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
  onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
})
