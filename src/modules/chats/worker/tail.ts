import type { Sink } from '#core/answers.ts'
import type { Id } from '#core/ids.ts'
import type { Logged } from '../runs/event-store.ts'
import { isEnd } from '../runs/facts.ts'
import { RunEventBatch } from '../runs/show.ts'

/** The newest events of a run that are held for readers of this process; older ones they read from the table. */
const HELD = 2_000
/**
 * The time between two writes per reader. Each reader costs a write, whatever is in it, so the more readers there are,
 * the more goes into one: events within this time of the write before wait for it.
 */
const MS_PER_READER = 0.25
const LONGEST_MS = 50
const FEW = 8
/** A reader that has so much unread is told no more until it has caught up. */
export const UNREAD_BYTES = 256 * 1024

/** The newest events of a run: written out once for all its readers, who are told of them at once. */
export class Tail {
  readonly #runId: Id
  #held: Logged[] = []
  /** The number that comes behind the events that are held. */
  #next: number
  #ended = false
  readonly #readers = new Set<() => void>()
  readonly #whenEnded = new Set<() => void>()
  #newest: { after: number; upTo: number; batch: RunEventBatch } | null = null
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | null = null

  constructor(runId: Id, lastSeq: number) {
    this.#runId = runId
    this.#next = lastSeq + 1
  }

  get ended(): boolean {
    return this.#ended
  }
  /** Whether a reader who has come this far has seen the end of the run. */
  isOver(seq: number): boolean {
    const last = this.#held.at(-1)
    return this.#ended && last !== undefined && seq >= last.seq && isEnd(last.type)
  }

  /** Whether everything behind `seq` is here. */
  reaches(seq: number): boolean {
    return seq + 1 >= (this.#held[0]?.seq ?? this.#next)
  }

  push(events: readonly Logged[]): void {
    this.#held.push(...events)
    this.#next = (this.#held.at(-1)?.seq ?? this.#next - 1) + 1
    if (this.#held.length > HELD) this.#held = this.#held.slice(-HELD / 2)
    this.#tell()
  }

  /** Ends the tail: nothing more will come from here. */
  end(): void {
    this.#ended = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#wake()
    for (const wake of this.#whenEnded) wake()
  }

  /**
   * Writes what comes behind `seq`; answers how far it came when it has ended, the signal fires, the reader has much
   * unread, or what is next is no longer here.
   */
  pour(sink: Sink, seq: number, signal: AbortSignal): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    let at = seq
    const take = (): void => {
      let full = false
      if (!signal.aborted && this.reaches(at) && this.#next > at + 1) {
        full = sink.write(this.#batchAfter(at)) > UNREAD_BYTES
        at = this.#next - 1
      }
      if (!full && !this.#ended && !signal.aborted && this.reaches(at)) return
      this.#readers.delete(take)
      signal.removeEventListener('abort', take)
      resolve(at)
    }
    this.#readers.add(take)
    signal.addEventListener('abort', take)
    take()
    return promise
  }

  /** Resolves when it has ended, or the signal fires. */
  over(signal: AbortSignal): Promise<void> {
    if (this.#ended || signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => {
      this.#whenEnded.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    this.#whenEnded.add(wake)
    signal.addEventListener('abort', wake)
    return promise
  }

  #batchAfter(after: number): RunEventBatch {
    const upTo = this.#next - 1
    if (this.#newest?.after !== after || this.#newest.upTo !== upTo) {
      const first = this.#held[0]!.seq
      this.#newest = { after, upTo, batch: new RunEventBatch(this.#runId, this.#held.slice(after + 1 - first)) }
    }
    return this.#newest.batch
  }

  #tell(): void {
    const readers = this.#readers.size
    if (readers === 0 || this.#timer !== null) return
    const pace = readers <= FEW ? 0 : Math.min(LONGEST_MS, readers * MS_PER_READER)
    const wait = this.#toldAt + pace - performance.now()
    if (wait <= 0) this.#wake()
    else this.#timer = setTimeout(() => this.#wake(), wait)
  }

  #wake(): void {
    this.#timer = null
    this.#toldAt = performance.now()
    for (const take of this.#readers) take()
  }
}
