import type { ServerResponse } from 'node:http'
import type { Context } from '#infra/context.ts'
import type { EventBatch, Feed, Sink } from '#core/answers.ts'
import type { Authority } from '#core/principal.ts'
import { startHeartbeat, stopHeartbeat } from './heartbeat.ts'
import type { Line } from '../invoke.ts'
import { EVENT_STREAM, UNREAD_BYTES, drainedInTime } from './sse.ts'
import { Watch, type WatchedCall } from '../watch.ts'

const ENDING_MS = 10_000

/**
 * Followers of feeds. There are thousands and they are mostly idle, so a follower has no generator, promise, or timer,
 * and keeps only the request data needed to recheck permissions.
 */
export interface Followers {
  add(response: ServerResponse, feed: Feed, call: WatchedCall, flight: Disposable | null): void
}

export function createFollowers(authority: Authority, line: Line, closing: AbortSignal): Followers {
  const all = new Set<Follower>()
  closing.addEventListener('abort', () => {
    for (const follower of all) follower.close()
  })
  return {
    add(response, feed, call, flight) {
      response.writeHead(200, EVENT_STREAM)
      const follower = new Follower(response, flight, closing, all)
      follower.begin(feed, new Watch(authority, line, call, follower))
      // Sends buffered events together with the head.
      response.flushHeaders()
    },
  }
}

class Follower implements Sink {
  readonly #response: ServerResponse
  readonly #closing: AbortSignal
  readonly #all: Set<Follower>
  readonly #flight: Disposable | null
  #watch: Watch | null = null
  #attached: Disposable | null = null
  #feed: Feed | null = null
  #slot = 0

  constructor(response: ServerResponse, flight: Disposable | null, closing: AbortSignal, all: Set<Follower>) {
    this.#response = response
    this.#flight = flight
    this.#closing = closing
    this.#all = all
  }

  begin(feed: Feed, watch: Watch): void {
    this.#feed = feed
    this.#watch = watch
    this.#all.add(this)
    this.#slot = startHeartbeat(this.#response)
    this.#attached = feed.attach(this)
    // Either may have happened while attaching.
    if (this.#response.destroyed || this.#closing.aborted) this.close()
    else this.#response.on('close', () => this.close())
  }

  write(batch: EventBatch): number {
    const response = this.#response
    // Drops a reader that is too slow; it resumes by ID. Checked before writing, because one batch may be larger.
    if (response.writableLength > UNREAD_BYTES) response.destroy()
    if (response.destroyed) return 0
    response.write(batch.bytes)
    return response.writableLength
  }

  async drained(): Promise<void> {
    if (this.#response.writableNeedDrain && !(await drainedInTime(this.#response, this.#closing)))
      this.#response.destroy()
  }

  end(): void {
    endSoon(this.#response)
  }

  async recheck(): Promise<void> {
    await this.#watch?.recheck()
  }

  async onPermitted(ctx: Context): Promise<void> {
    await this.#feed?.recheck(ctx)
  }

  close(): void {
    if (!this.#all.delete(this)) return
    stopHeartbeat(this.#response, this.#slot)
    this.#watch?.[Symbol.dispose]()
    this.#attached?.[Symbol.dispose]()
    this.#flight?.[Symbol.dispose]()
    endSoon(this.#response)
  }
}

/** A client that doesn't read must not keep buffered data forever. */
function endSoon(response: ServerResponse): void {
  if (response.destroyed || response.writableEnded) return
  response.end()
  const timer = setTimeout(() => response.destroy(), ENDING_MS).unref()
  response.once('close', () => clearTimeout(timer))
}
