import type { Event, Sink } from '#core/answers.ts'

export async function* iterate(
  open: (sink: Sink) => Disposable,
  signal: AbortSignal,
  recheck: Sink['recheck'] = async () => {},
): AsyncGenerator<Event> {
  const waiting: Event[] = []
  let over = signal.aborted
  let wake = (): void => {}
  let onDrained = (): void => {}
  let unread = 0
  const stop = (): void => {
    over = true
    onDrained()
    wake()
  }
  signal.addEventListener('abort', stop, { once: true })
  using _attached = open({
    write(batch) {
      waiting.push(...batch.events())
      // A slow reader is dropped, like a slow socket.
      if (waiting.length > MAX_WAITING) stop()
      wake()
      return (unread += batch.bytes.length)
    },
    drained: () => (waiting.length === 0 || over ? Promise.resolve() : new Promise((resolve) => (onDrained = resolve))),
    end: stop,
    recheck,
  })
  for (;;) {
    const next = waiting.shift()
    if (next !== undefined) yield next
    else if (over) return
    else {
      unread = 0
      onDrained()
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
}
const MAX_WAITING = 10_000
