import type { Event, Sink } from '#kernel/answers.ts'

/** What a sink would have sent, as events: for those who do not take bytes. */
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
  signal.addEventListener('abort', stop, { once: true })
  using _attached = open({
    write(bytes) {
      for (const words of Buffer.from(bytes).toString().split('\n\n')) if (words !== '') waiting.push(readFrame(words))
      // Whoever iterates and does not keep up is left behind, as a slow socket is.
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

function readFrame(words: string): Event {
  const fields = Object.fromEntries(
    words.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const { id, event = '', data = 'null' } = fields
  return { ...(id !== undefined && { id }), event, data: JSON.parse(data) as unknown }
}
