import { addAbortListener } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { WireAnswer } from './adapter.ts'

/** `sent`: part of the request may have reached the other side. */
export class ExchangeBroke extends Error {
  override name = 'ExchangeBroke'
  readonly sent: boolean
  readonly why: Error
  constructor(why: Error, isSent: boolean) {
    super(why.message)
    this.why = why
    this.sent = isSent
  }
}

export class TooManyBytes extends Error {
  override name = 'TooManyBytes'
}

/** Bytes of an answer buffered for its reader before backpressure applies. */
const WAITING_BYTES = 1 << 20

/**
 * The body is read at the reader's speed. Rejects with `ExchangeBroke`, and so does the body. A reader that stops
 * closes the connection.
 */
export function exchange(
  dispatch: (handler: Dispatcher.DispatchHandler) => void,
  { mostBytes, signal }: { mostBytes: number; signal: AbortSignal },
): Promise<WireAnswer> {
  const head = Promise.withResolvers<WireAnswer>()
  let controller: Dispatcher.DispatchController | null = null
  let isSent = false
  let failure: ExchangeBroke | null = null
  let hasEnded = false
  let total = 0
  let size = 0
  let waiting: Buffer[] = []
  let wake = (): void => {}

  const fail = (why: Error): void => {
    if (hasEnded || failure !== null) return
    failure = new ExchangeBroke(why, isSent)
    head.reject(failure)
    wake()
    controller?.abort(why)
  }
  if (signal.aborted) {
    fail(signal.reason as Error)
    return head.promise
  }
  const leaving = addAbortListener(signal, () => fail(signal.reason as Error))

  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const parts = waiting
        waiting = []
        size = 0
        if (parts.length > 0) controller?.resume()
        yield* parts
        if (waiting.length > 0) continue
        if (failure !== null) throw failure
        if (hasEnded) return
        await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      fail(new Error('the rest is not wanted'))
      leaving[Symbol.dispose]()
    }
  }

  dispatch({
    onRequestStart(requestController) {
      // Aborted while waiting for a connection: nothing was sent.
      if (failure !== null) return requestController.abort(failure.why)
      controller = requestController
      isSent = true
    },
    onResponseStart(_, status, headers) {
      head.resolve({ status, headers: plain(headers), body: body() })
    },
    onResponseData(responseController, part) {
      total += part.length
      if (total > mostBytes) return fail(new TooManyBytes(`The response has more than ${mostBytes} bytes.`))
      waiting.push(part)
      size += part.length
      if (size > WAITING_BYTES) responseController.pause()
      wake()
    },
    onResponseEnd() {
      hasEnded = true
      leaving[Symbol.dispose]()
      wake()
    },
    onResponseError(_, error) {
      leaving[Symbol.dispose]()
      fail(error)
    },
  })
  return head.promise
}

const plain = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
