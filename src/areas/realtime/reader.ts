import type { Context } from '#engine/context.ts'
import type { Sink } from '#kernel/contract.ts'
import type { Scope } from '#kernel/scopes.ts'
import { type Readable, mayHear } from './channels.ts'

/** A subscription. `position` is how far it has come in the log of changes. */
export class Reader {
  /** What it follows, and with which rights as they are now. */
  readonly channels: Map<string, Readable>
  position: bigint
  /** Whether changes reach it as they come; before that it catches up from the log. */
  live = false
  #sink: Sink | null = null
  #pending: Buffer[] = []
  /** Channels that begin later than `position`: what lies before cannot be told whole. */
  readonly #from: ReadonlyMap<string, bigint>
  /** Leaves, with a word, what may not be read any more; with other rights when the context has others. */
  readonly recheck: (ctx?: Context) => Promise<void>

  constructor(parts: {
    channels: Map<string, Readable>
    position: bigint
    from: ReadonlyMap<string, bigint>
    recheck: (reader: Reader, ctx?: Context) => Promise<void>
  }) {
    this.channels = parts.channels
    this.position = parts.position
    this.#from = parts.from
    this.recheck = (ctx) => parts.recheck(this, ctx)
  }

  attach(sink: Sink): void {
    this.#sink = sink
  }

  hears(channel: string, seq: bigint, scope: Scope | null): boolean {
    const readable = this.channels.get(channel)
    if (readable === undefined || !mayHear(readable, scope)) return false
    return this.#from.size === 0 || seq > (this.#from.get(channel) ?? 0n)
  }

  /** Kept until `flush`: what comes at once goes in one write. */
  add(frame: Buffer): void {
    this.#pending.push(frame)
  }

  flush(): void {
    const frames = this.#pending
    if (frames.length === 0) return
    this.#pending = []
    this.#sink?.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames))
  }

  say(frame: Buffer): void {
    this.add(frame)
    this.flush()
  }

  async drained(): Promise<void> {
    await this.#sink?.drained()
  }

  end(): void {
    this.#sink?.end()
  }
}
