import { type Change, changesAfter, changesBetween, logEpoch } from '#infra/outbox/changes.ts'
import type { Engine } from '#infra/context.ts'
import type { Secrets } from '#infra/secrets.ts'
import type { EventBatch } from '#core/answers.ts'
import { Bundle } from './bundle.ts'
import { changeFrame, jsonFrame } from './frames.ts'
import { type Positions, createPositions } from './position.ts'
import type { Reader } from './reader.ts'

const POLL_MS = 1_000
const BATCH = 1_000
/** Log rows per query while a reader catches up. */
const PAGE = 500
/** Maximum bytes written to a reader before checking its backlog. */
const MAX_AT_ONCE = 1 << 18
const TOPIC = 'realtime'

export type HubParts = Pick<Engine, 'bus' | 'events' | 'log' | 'postgres'>

/**
 * Subscriptions of this process. One loop reads the log in order and encodes each change once for all readers. It stops
 * while there are none.
 */
export class Hub {
  readonly positions: Positions
  readonly #engine: HubParts
  readonly #readers = new Map<string, Set<Reader>>()
  /** Position up to which live readers have received changes. Null while there are none. */
  #head: bigint | null = null
  #count = 0
  #stop: (() => void) | null = null
  #reading = false
  #again = false
  readonly #heard: Disposable

  constructor(engine: HubParts, positions: Positions) {
    this.#engine = engine
    this.positions = positions
    this.#heard = engine.bus.hear(TOPIC, (words) => {
      const [channel, event] = words.split('\n', 2) as [string, string]
      const readers = this.#readers.get(channel)
      if (readers) tellAll(readers, jsonFrame(event, words.slice(channel.length + event.length + 2)))
    })
  }

  readers(channel: string): ReadonlySet<Reader> {
    return this.#readers.get(channel) ?? NOBODY
  }
  channels(): IterableIterator<string> {
    return this.#readers.keys()
  }

  /** Adds a reader, starting at its position. `head` is the end of the log at that time. */
  add(reader: Reader, head: bigint): void {
    this.#count += 1
    // Not the reader's position: one reader resuming after a day must not make the loop read that day for all.
    this.#head ??= head
    for (const channel of reader.channels.keys()) {
      const readers = this.#readers.get(channel) ?? new Set()
      this.#readers.set(channel, readers.add(reader))
    }
    if (this.#stop === null) {
      this.#stop = this.#follow()
      // Nothing woke this process for changes since the reader's position was read.
      this.#wake()
    }
    void this.#catchUp(reader)
  }

  remove(reader: Reader): void {
    for (const channel of reader.channels.keys()) this.leave(reader, channel)
    reader.live = false
    this.#count -= 1
    if (this.#count > 0) return
    this.#stop?.()
    this.#stop = null
    this.#head = null
  }

  leave(reader: Reader, channel: string): void {
    const readers = this.#readers.get(channel)
    readers?.delete(reader)
    if (readers?.size === 0) this.#readers.delete(channel)
    reader.channels.delete(channel)
  }

  /** Broadcasts to everyone currently subscribed, in every process. Nothing is stored. */
  broadcast(channel: string, event: string, data: unknown): void {
    this.#engine.bus.send(TOPIC, `${channel}\n${event}\n${JSON.stringify(data)}`)
  }

  #follow(): () => void {
    const timer = setInterval(() => this.#wake(), POLL_MS)
    const woken = this.#engine.bus.on('changes', () => this.#wake())
    return () => {
      clearInterval(timer)
      woken[Symbol.dispose]()
    }
  }

  #wake(): void {
    this.#again = true
    if (!this.#reading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    while (this.#again && this.#head !== null) {
      this.#again = false
      try {
        const from = this.#head
        const rows = await changesAfter(this.#engine.postgres, from, BATCH)
        // All readers may have left meanwhile, and new ones started elsewhere.
        if (this.#head !== from) {
          this.#again = true
          continue
        }
        if (rows.length === 0) continue
        this.#deliver(rows)
        if (rows.length === BATCH) this.#again = true
      } catch (error) {
        this.#engine.log.warn({ error }, 'events cannot be read right now')
      }
    }
    this.#reading = false
  }

  #deliver(rows: readonly Change[]): void {
    const touched = new Set<Reader>()
    let begin = new Bundle()
    let bytes = 0
    for (const row of rows) {
      const readers = this.#readers.get(row.channel)
      if (readers === undefined) continue
      let frame: EventBatch | null = null
      const scope = this.#engine.events.scopeOf(row.type, row.resource_type)
      for (const reader of readers) {
        if (!reader.live || row.seq <= reader.position || !reader.hears(row.channel, row.seq, scope)) continue
        frame ??= changeFrame(row, this.positions.encode(row.seq))
        reader.add(frame, begin)
        touched.add(reader)
      }
      bytes += frame?.bytes.length ?? 0
      if (bytes < MAX_AT_ONCE) continue
      flush(touched)
      begin = new Bundle()
      bytes = 0
    }
    this.#head = rows.at(-1)!.seq
    flush(touched)
  }

  /** Sends from the log until the reader reaches the live position. */
  async #catchUp(reader: Reader): Promise<void> {
    try {
      while (this.#head !== null && reader.position < this.#head && reader.channels.size > 0) {
        const until = this.#head
        const rows = await changesBetween(this.#engine.postgres, [...reader.channels.keys()], {
          after: reader.position,
          until,
          limit: PAGE,
        })
        await this.#repeat(reader, rows)
        reader.position = rows.length === PAGE ? rows.at(-1)!.seq : until
      }
      reader.live = true
    } catch (error) {
      this.#engine.log.warn({ error }, 'a subscriber cannot catch up right now')
      reader.end()
    }
  }

  async #repeat(reader: Reader, rows: readonly Change[]): Promise<void> {
    let begin = new Bundle()
    let bytes = 0
    for (const row of rows) {
      if (!reader.hears(row.channel, row.seq, this.#engine.events.scopeOf(row.type, row.resource_type))) continue
      const frame = changeFrame(row, this.positions.encode(row.seq))
      reader.add(frame, begin)
      bytes += frame.bytes.length
      if (bytes < MAX_AT_ONCE) continue
      reader.flush()
      await reader.drained()
      begin = new Bundle()
      bytes = 0
    }
    reader.flush()
    await reader.drained()
  }

  [Symbol.dispose](): void {
    this.#stop?.()
    this.#heard[Symbol.dispose]()
  }
}

function flush(touched: Set<Reader>): void {
  for (const reader of touched) reader.flush()
  touched.clear()
}

const NOBODY: ReadonlySet<Reader> = new Set()

function tellAll(readers: ReadonlySet<Reader>, frame: EventBatch): void {
  for (const reader of readers) reader.send(frame)
}

export interface HasHub {
  hub: Hub
}

export const openHub = async ({ secrets, ...parts }: HubParts & { secrets: Secrets }): Promise<Hub> =>
  new Hub(parts, createPositions(secrets, await logEpoch(parts.postgres.db)))
