import type { Event } from '#core/answers.ts'

/**
 * Events of a stream that needs a start. If the start takes longer than `waitMs`, the head and heartbeats are sent
 * first, because proxies close connections that are silent for a minute. An early failure throws and gets its own
 * status; a later one becomes the event from `failureEvent`, or ends the stream if that is null.
 */
export async function eventsSoon<S extends AsyncDisposable>(
  start: Promise<S>,
  waitMs: number,
  events: (value: S) => AsyncIterable<Event>,
  failureEvent: (error: unknown) => Event | null,
): Promise<AsyncIterable<Event>> {
  const waiting = Promise.withResolvers<null>()
  const timer = setTimeout(() => waiting.resolve(null), waitMs)
  try {
    const value = await Promise.race([start, waiting.promise])
    if (value !== null) return events(value)
  } finally {
    clearTimeout(timer)
  }
  start.catch(() => {})
  return { [Symbol.asyncIterator]: () => new LateEvents(start, events, failureEvent) }
}

class LateEvents<S extends AsyncDisposable> implements AsyncIterator<Event, void, undefined> {
  readonly #start: Promise<S>
  readonly #events: (value: S) => AsyncIterable<Event>
  readonly #failureEvent: (error: unknown) => Event | null
  #inner: AsyncIterator<Event> | null = null
  #over = false

  constructor(
    start: Promise<S>,
    events: (value: S) => AsyncIterable<Event>,
    failureEvent: (error: unknown) => Event | null,
  ) {
    this.#start = start
    this.#events = events
    this.#failureEvent = failureEvent
  }

  async next(): Promise<IteratorResult<Event, void>> {
    if (this.#over) return { done: true, value: undefined }
    if (this.#inner === null)
      try {
        const value = await this.#start
        this.#inner = this.#events(value)[Symbol.asyncIterator]()
      } catch (error) {
        this.#over = true
        const event = this.#failureEvent(error)
        return event === null ? { done: true, value: undefined } : { done: false, value: event }
      }
    return this.#inner.next()
  }

  async return(): Promise<IteratorResult<Event, void>> {
    this.#over = true
    if (this.#inner !== null) await this.#inner.return?.()
    else this.#start.then((value) => value[Symbol.asyncDispose]()).catch(() => {})
    return { done: true, value: undefined }
  }
}
