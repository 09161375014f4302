import type { Dispatcher } from 'undici'
import { ValueCounter } from '#packages/json-scan/json-text.ts'
import type { Outbound } from './outbound.ts'
import type { Send, ExchangeOwner } from './send.ts'
import { RetrieveFailed, explainError } from './retrieve.ts'

/** The remaining byte allowance; callers refill it for a new exchange. */
export interface Meter {
  remaining: number
  values?: number
}

const WITHOUT_BODY = new Set([204, 205, 304])
const BUFFERED = 256 * 1024

/**
 * A `fetch` for libraries. All requests go through `outbound`, which checks addresses. Follows no redirects, decodes
 * nothing, and stops at the limits of `meter` and `withinMs`. `mayBePrivate`: for addresses set by the administrator.
 * Rejects with RetrieveFailed.
 */
export const fetchThrough =
  (
    outbound: Outbound,
    meter: Meter,
    { credential, party, withinMs, mayBePrivate }: ExchangeOwner & Pick<Send, 'mayBePrivate'> & { withinMs: number },
  ) =>
  (input: string | URL, { method = 'GET', headers, body, signal }: RequestInit = {}): Promise<Response> => {
    const url = new URL(input)
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    let controller: Dispatcher.DispatchController | null = null
    let stream: ReadableStreamDefaultController<Uint8Array> | null = null
    const counter = new ValueCounter()
    let over = false
    const stop = (reason: unknown): void => {
      if (over) return
      over = true
      const error = reason instanceof Error ? reason : new Error('nobody waits for the answer any more')
      reject(error)
      stream?.error(error)
      controller?.abort(error)
    }
    const leave = (): void => stop(signal?.reason)
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(dispatchController) {
        if (over) return dispatchController.abort(new Error('given up while it waited for a connection'))
        controller = dispatchController
      },
      onResponseStart(controller, status, fields) {
        const headers = new Headers()
        for (const [name, value] of Object.entries(fields))
          for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) headers.append(name, each)
        const encoding = headers.get('content-encoding')
        if (status < 200 || status > 599 || (encoding !== null && encoding !== 'identity'))
          return stop(new RetrieveFailed('garbled', 'The server’s response has an unexpected encoding.'))
        const answer = WITHOUT_BODY.has(status)
          ? null
          : new ReadableStream<Uint8Array>(
              {
                start: (own) => void (stream = own),
                pull: () => controller.resume(),
                cancel: () => stop(new Error('the rest is not wanted')),
              },
              { highWaterMark: BUFFERED, size: (piece) => piece?.byteLength ?? 0 },
            )
        resolve(new Response(answer, { status, headers }))
      },
      onResponseData(controller, piece) {
        if (over) return
        meter.remaining -= piece.length
        if (meter.values !== undefined) meter.values -= counter.push(piece)
        if (meter.remaining < 0 || (meter.values ?? 0) < 0)
          return stop(new RetrieveFailed('too_large', 'The server’s response is too large.'))
        stream?.enqueue(new Uint8Array(piece))
        if (stream !== null && (stream.desiredSize ?? 0) <= 0) controller.pause()
      },
      onResponseEnd() {
        if (over) return
        over = true
        stream?.close()
      },
      onResponseError: (_, error) => stop(explainError(error, url)),
    }
    if (signal?.aborted) leave()
    else {
      signal?.addEventListener('abort', leave, { once: true })
      outbound.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: method as Send['method'],
          headers: [...new Headers(headers ?? {})].flat(),
          body: typeof body === 'string' || body instanceof URLSearchParams ? Buffer.from(body.toString()) : null,
          credential,
          party,
          withinMs,
          ...(mayBePrivate === true && { mayBePrivate }),
        },
        handler,
      )
    }
    return promise.finally(() => over && signal?.removeEventListener('abort', leave))
  }
