import type { Context } from '#infra/context.ts'
import { iterate } from '#infra/iterate-feed.ts'
import type { Event, EventBatch, Feed, Sink } from '#core/answers.ts'
import type { Scope } from '#core/scopes.ts'
import { Bundle } from './bundle.ts'
import { type Readable, mayReceive, readable } from './channels.ts'
import { eventFrame } from './frames.ts'

export interface Start {
  position: bigint
  head: bigint
  /** Channels that start later, because some changes since `position` were deleted. */
  from: ReadonlyMap<string, bigint>
  /** `subscribed`, and a `reset` for each channel that can't resume. */
  frames: readonly EventBatch[]
}

interface Following {
  add(reader: Reader, head: bigint): void
  remove(reader: Reader): void
  leave(reader: Reader, channel: string): void
}

/** A subscription. `position` is its place in the change log. There can be thousands, so it stores little. */
export class Reader implements Feed {
  readonly channels: Map<string, Readable>
  position: bigint
  /** Receives changes as they come. Before that, it catches up from the log. */
  live = false
  readonly #hub: Following
  readonly #from: ReadonlyMap<string, bigint> | null
  #waiting: { ctx: Context; start: Start } | null
  #sink: Sink | null = null
  #pending: Bundle | null = null

  constructor(hub: Following, ctx: Context, channels: Map<string, Readable>, start: Start) {
    this.#hub = hub
    this.channels = channels
    this.position = start.position
    this.#from = start.from.size === 0 ? null : start.from
    this.#waiting = { ctx, start }
  }

  attach(sink: Sink): Disposable {
    if (this.#waiting === null) throw new Error('a subscription has one reader')
    const { frames, head } = this.#waiting.start
    this.#waiting = null
    this.#sink = sink
    const begin = new Bundle()
    for (const frame of frames) this.add(frame, begin)
    this.flush()
    this.#hub.add(this, head)
    return this
  }

  [Symbol.asyncIterator](): AsyncIterator<Event> {
    if (this.#waiting === null) throw new Error('a subscription has one reader')
    const { ctx } = this.#waiting
    return iterate(
      (sink) => this.attach(sink),
      ctx.signal,
      () => this.recheck(ctx),
    )
  }

  [Symbol.dispose](): void {
    this.#hub.remove(this)
  }

  /** Leaves unreadable channels with a `revoked` event, and ends the stream when none is left. */
  async recheck(again: unknown): Promise<void> {
    const ctx = again as Context
    for (const [name, { channel }] of this.channels) {
      const current = await readable(ctx, channel)
      // Two checks can run concurrently.
      if (!this.channels.has(name)) continue
      if (current) this.channels.set(name, current)
      else {
        this.#hub.leave(this, name)
        this.send(eventFrame('revoked', { channel: name }))
      }
    }
    if (this.channels.size === 0) this.end()
  }

  async recheckAccess(): Promise<void> {
    await this.#sink?.recheck()
  }

  hears(channel: string, seq: bigint, scope: Scope | null): boolean {
    const readable = this.channels.get(channel)
    if (readable === undefined || !mayReceive(readable, scope)) return false
    return this.#from === null || seq > (this.#from.get(channel) ?? 0n)
  }

  /** Buffers a frame until `flush`, so that simultaneous events share a write. `begin` is shared by all recipients. */
  add(frame: EventBatch, begin: Bundle): void {
    this.#pending = (this.#pending ?? begin).add(frame)
  }

  flush(): void {
    const pending = this.#pending
    if (pending === null) return
    this.#pending = null
    this.#sink?.write(pending)
  }

  send(frame: EventBatch): void {
    this.flush()
    this.#sink?.write(frame)
  }

  async drained(): Promise<void> {
    await this.#sink?.drained()
  }

  end(): void {
    this.#sink?.end()
  }
}
