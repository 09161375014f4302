import type { ServerResponse } from 'node:http'
import { type Event, encodeEvent } from '#core/answers.ts'
import { startHeartbeat, stopHeartbeat } from './heartbeat.ts'

export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** Unread bytes allowed per reader. A reader that falls behind is disconnected and resumes by ID. */
export const UNREAD_BYTES = 1 << 20
/** Time to catch up: one event may exceed the limit, and many may arrive at once. */
const CATCH_UP_MS = 10_000

/**
 * Writes events until they end, the reader leaves, or `signal` fires; events within `lastWordsMs` after that are still
 * written. Never throws if the reader leaves.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export async function sendEvents(
  response: ServerResponse,
  headers: Record<string, string>,
  events: AsyncIterable<Event>,
  signal: AbortSignal,
  lastWordsMs = 0,
): Promise<void> {
  response.writeHead(200, { ...headers, ...EVENT_STREAM })
  response.flushHeaders()
  const slot = startHeartbeat(response)
  const iterator = events[Symbol.asyncIterator]()
  // A new promise per event: racing against a long-lived one would retain every event.
  let stop: ((nothing: null) => void) | null = null
  let over = false
  let timer: NodeJS.Timeout | undefined
  const end = () => {
    over = true
    stop?.(null)
  }
  const onAbort = () => {
    if (lastWordsMs === 0 || response.destroyed) end()
    else timer = setTimeout(end, lastWordsMs)
  }
  const nextOrStop = (): Promise<IteratorResult<Event> | null> =>
    new Promise((resolve, reject) => {
      if (over) return resolve(null)
      stop = resolve
      iterator.next().then(resolve, reject)
    })
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    for (;;) {
      const next = await nextOrStop()
      if (next === null || next.done) break
      response.write(encodeEvent(next.value))
      if (response.writableLength > UNREAD_BYTES && !(await drainedInTime(response, signal))) {
        response.destroy()
        break
      }
    }
  } finally {
    stopHeartbeat(response, slot)
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    // Not awaited: a waiting generator ends by the same signal.
    iterator.return?.().catch?.(() => {})
    if (!response.destroyed) response.end()
  }
}

/** Whether the reader caught up in time. Until then, events aren't requested, so the backlog stays bounded. */
export function drainedInTime(response: ServerResponse, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      response.off('drain', done).off('close', done)
      resolve(!response.writableNeedDrain && !response.destroyed)
    }
    const timer = setTimeout(done, CATCH_UP_MS)
    response.on('drain', done).on('close', done)
    signal.addEventListener('abort', done, { once: true })
    if (response.destroyed || signal.aborted) done()
  })
}
