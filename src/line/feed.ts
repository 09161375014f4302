import type { ServerResponse } from 'node:http'
import type { Feed } from '#kernel/contract.ts'
import { EVENT_STREAM, HEARTBEAT_MS, UNREAD_BYTES, caughtUp } from './sse.ts'

/**
 * Lets a feed write to a reader until the reader leaves or `signal` fires. There are thousands of such readers, so
 * nothing runs per reader while nothing is said: no generator, no timer.
 */
export function sendFeed(response: ServerResponse, feed: Feed, signal: AbortSignal): Promise<void> {
  response.writeHead(200, EVENT_STREAM)
  response.flushHeaders()
  const { promise, resolve } = Promise.withResolvers<void>()
  const attached = feed.attach({
    write(bytes) {
      // One that reads too slowly goes, and resumes by id. Looked at before, for what is said at once may be larger.
      if (response.writableLength > UNREAD_BYTES) response.destroy()
      if (response.destroyed) return 0
      response.write(bytes)
      return response.writableLength
    },
    async drained() {
      if (response.writableNeedDrain && !(await caughtUp(response, signal))) response.destroy()
    },
    end: () => response.end(),
  })
  const heart = beat(response)
  const done = (): void => {
    signal.removeEventListener('abort', done)
    response.off('close', done)
    heart[Symbol.dispose]()
    attached[Symbol.dispose]()
    if (!response.destroyed) response.end()
    resolve()
  }
  // Either may have come while the feed was attached.
  if (response.destroyed || signal.aborted) done()
  else {
    response.on('close', done)
    signal.addEventListener('abort', done)
  }
  return promise
}

const SLOTS = HEARTBEAT_MS / 1_000
const slots: Set<ServerResponse>[] = Array.from({ length: SLOTS }, () => new Set())
const HEARTBEAT = Buffer.from(':\n\n')
let ticking: NodeJS.Timeout | null = null
let now = 0
let beating = 0

/** A heartbeat for a reader, on one timer for all: each second a fifteenth of them. */
function beat(response: ServerResponse): Disposable {
  const slot = slots[now]!.add(response)
  beating += 1
  ticking ??= setInterval(() => {
    now = (now + 1) % SLOTS
    for (const each of slots[now]!) each.write(HEARTBEAT)
  }, 1_000)
  return {
    [Symbol.dispose]() {
      slot.delete(response)
      beating -= 1
      if (beating > 0 || ticking === null) return
      clearInterval(ticking)
      ticking = null
    },
  }
}
