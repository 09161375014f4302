import { createParser } from 'eventsource-parser'
import type { Event, Sink } from '#kernel/answers.ts'

/** The events that a sink would have sent as bytes: for those who do not take bytes. */
export async function* iterate(
  open: (sink: Sink) => Disposable,
  signal: AbortSignal,
  recheck: Sink['recheck'] = async () => {},
): AsyncGenerator<Event> {
  const waiting: Event[] = []
  let over = signal.aborted
  let wake = (): void => {}
  let taken = (): void => {}
  let unread = 0
  const stop = (): void => {
    over = true
    taken()
    wake()
  }
  const parser = createParser({
    onEvent: ({ id, event = '', data }) =>
      void waiting.push({ ...(id !== undefined && { id }), event, data: JSON.parse(data) as unknown }),
  })
  signal.addEventListener('abort', stop, { once: true })
  using _attached = open({
    write(bytes) {
      parser.feed(Buffer.from(bytes).toString())
      // A reader that iterates and does not keep up is left behind, as a slow socket is.
      if (waiting.length > MOST_WAITING) stop()
      wake()
      return (unread += bytes.length)
    },
    drained: () => (waiting.length === 0 || over ? Promise.resolve() : new Promise((resolve) => (taken = resolve))),
    end: stop,
    recheck,
  })
  for (;;) {
    const next = waiting.shift()
    if (next !== undefined) yield next
    else if (over) return
    else {
      unread = 0
      taken()
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
}
const MOST_WAITING = 10_000
