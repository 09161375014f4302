import type { Context } from '#infra/context.ts'
import { iterate } from '#infra/iterate-feed.ts'
import type { Event, EventBatch, Feed, Sink } from '#core/answers.ts'
import type { Scope } from '#core/scopes.ts'
import { Bundle } from './bundle.ts'
import { type Readable, mayReceive, readable } from './channels.ts'
import { eventFrame } from './frames.ts'

/** The start of a subscription, and what it is told of that. */
export interface Start {
  position: bigint
  /** The end of the log. */
  head: bigint
  /** Channels that begin later, because their changes since `position` are not all there. */
  from: ReadonlyMap<string, bigint>
  /** `subscribed`, and a `reset` for each channel that cannot go on where it was. */
  frames: readonly EventBatch[]
}

/** The hub, as a subscription knows it. */
interface Following {
  add(reader: Reader, head: bigint): void
  remove(reader: Reader): void
  leave(reader: Reader, channel: string): void
}

/** A subscription. `position` is how far it has come in the log of changes. There are thousands: it holds what it must. */
export class Reader implements Feed {
  /** Channels that it follows, with its rights as they are now. */
  readonly channels: Map<string, Readable>
  position: bigint
  /** Whether changes reach it as they come; before that it catches up from the log. */
  live = false
  readonly #hub: Following
  /** Channels that begin later than `position`: what lies before cannot be told whole. */
  readonly #from: ReadonlyMap<string, bigint> | null
  /** The start of a subscription, kept until somebody reads. */
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

  /** Leaves, with a word, what may not be read any more; when nothing is left, the stream ends. */
  async recheck(again: unknown): Promise<void> {
    const ctx = again as Context
    for (const [name, { channel }] of this.channels) {
      const still = await readable(ctx, channel)
      // Two may look at once.
      if (!this.channels.has(name)) continue
      if (still) this.channels.set(name, still)
      else {
        this.#hub.leave(this, name)
        this.say(eventFrame('revoked', { channel: name }))
      }
    }
    if (this.channels.size === 0) this.end()
  }

  /** Asks again whether it may follow: a chat may have gone elsewhere. */
  async doubt(): Promise<void> {
    await this.#sink?.recheck()
  }

  hears(channel: string, seq: bigint, scope: Scope | null): boolean {
    const readable = this.channels.get(channel)
    if (readable === undefined || !mayReceive(readable, scope)) return false
    return this.#from === null || seq > (this.#from.get(channel) ?? 0n)
  }

  /**
   * Keeps a frame until `flush`, so that events of one moment go in one write. `begin` is shared by all who are told at
   * once.
   */
  add(frame: EventBatch, begin: Bundle): void {
    this.#pending = (this.#pending ?? begin).add(frame)
  }

  flush(): void {
    const pending = this.#pending
    if (pending === null) return
    this.#pending = null
    this.#sink?.write(pending)
  }

  say(frame: EventBatch): void {
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
