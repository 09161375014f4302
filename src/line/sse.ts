import type { ServerResponse } from 'node:http'
import type { Event } from '#kernel/contract.ts'

export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

const HEARTBEAT_MS = 15_000
/** What a slow reader may have unread. Beyond it the connection is closed and the reader resumes by id. */
const UNREAD_BYTES = 1 << 20

/** One event as server-sent events write it; JSON has no raw line breaks, so `data` is one line. */
export const encodeEvent = ({ id, event, data }: Event): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/**
 * Writes events until they end, the reader leaves or `signal` fires. Never throws for a reader that left.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function sendEvents(
  response: ServerResponse,
  headers: Record<string, string>,
  events: AsyncIterable<Event>,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { ...headers, ...EVENT_STREAM })
  response.flushHeaders()
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS)
  const iterator = events[Symbol.asyncIterator]()
  // One promise per event: what waits beside a promise that outlives them all would keep every event until then.
  let stop: ((nothing: null) => void) | null = null
  const onAbort = () => stop?.(null)
  const nextOrStop = (): Promise<IteratorResult<Event> | null> =>
    new Promise((resolve, reject) => {
      stop = resolve
      iterator.next().then(resolve, reject)
    })
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    while (!signal.aborted) {
      const next = await nextOrStop()
      if (next === null || next.done) break
      response.write(encodeEvent(next.value))
      if (response.writableLength > UNREAD_BYTES) {
        response.destroy()
        break
      }
    }
  } finally {
    clearInterval(heartbeat)
    signal.removeEventListener('abort', onAbort)
    // Not awaited: a generator that waits inside ends by the same signal.
    iterator.return?.().catch?.(() => {})
    if (!response.destroyed) response.end()
  }
}
