import { addAbortListener } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { WireAnswer } from './adapter.ts'

/** A request came to nothing, or its answer broke off. `sent`: something of it may have reached the other side. */
export class ExchangeBroke extends Error {
  override name = 'ExchangeBroke'
  readonly sent: boolean
  readonly why: Error
  constructor(why: Error, sent: boolean) {
    super(why.message)
    this.why = why
    this.sent = sent
  }
}

/** The answer has more bytes than are read of it. */
export class TooManyBytes extends Error {
  override name = 'TooManyBytes'
}

/** Bytes of an answer that wait here for their reader, before the other side is told to wait. */
const WAITING_BYTES = 1 << 20

/**
 * Sends a request and resolves with the head of its answer, whose body is then read as fast as its reader takes it.
 * Rejects with `ExchangeBroke`, as does the body. Whoever stops reading ends the connection.
 */
export function exchange(
  dispatch: (handler: Dispatcher.DispatchHandler) => void,
  { mostBytes, signal }: { mostBytes: number; signal: AbortSignal },
): Promise<WireAnswer> {
  const begun = Promise.withResolvers<WireAnswer>()
  let controller: Dispatcher.DispatchController | null = null
  let sent = false
  let failure: ExchangeBroke | null = null
  let ended = false
  let total = 0
  let size = 0
  let waiting: Buffer[] = []
  let wake = (): void => {}

  const fail = (why: Error): void => {
    if (ended || failure !== null) return
    failure = new ExchangeBroke(why, sent)
    begun.reject(failure)
    wake()
    controller?.abort(why)
  }
  if (signal.aborted) {
    fail(signal.reason as Error)
    return begun.promise
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
        if (ended) return
        await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      fail(new Error('the rest is not wanted'))
      leaving[Symbol.dispose]()
    }
  }

  dispatch({
    onRequestStart(given) {
      // Given up while it waited for a connection: nothing of it is sent.
      if (failure !== null) return given.abort(failure.why)
      controller = given
      sent = true
    },
    onResponseStart(_, status, headers) {
      begun.resolve({ status, headers: plain(headers), body: body() })
    },
    onResponseData(given, part) {
      total += part.length
      if (total > mostBytes) return fail(new TooManyBytes(`The response has more than ${mostBytes} bytes.`))
      waiting.push(part)
      size += part.length
      if (size > WAITING_BYTES) given.pause()
      wake()
    },
    onResponseEnd() {
      ended = true
      leaving[Symbol.dispose]()
      wake()
    },
    onResponseError(_, error) {
      leaving[Symbol.dispose]()
      fail(error)
    },
  })
  return begun.promise
}

const plain = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
