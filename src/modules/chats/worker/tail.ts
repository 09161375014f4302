import type { Sink } from '#core/answers.ts'
import type { Id } from '#core/ids.ts'
import type { Logged } from '../runs/event-store.ts'
import { isEnd } from '../runs/facts.ts'
import { RunEventBatch } from '../runs/show.ts'

/** Events kept in memory per run. Readers get older ones from the table. */
const HELD = 2_000
/**
 * Minimum time between writes, per reader: each write costs the same regardless of its size, so many readers get larger
 * batches.
 */
const MS_PER_READER = 0.25
const MAX_DELAY_MS = 50
const FEW = 8
/** Unread bytes above which a reader has to catch up first. */
export const UNREAD_BYTES = 256 * 1024

export class Tail {
  readonly #runId: Id
  #held: Logged[] = []
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
  /** Whether a reader at `seq` has seen the run's end. */
  isOver(seq: number): boolean {
    const last = this.#held.at(-1)
    return this.#ended && last !== undefined && seq >= last.seq && isEnd(last.type)
  }

  /** Whether everything after `seq` is in memory. */
  reaches(seq: number): boolean {
    return seq + 1 >= (this.#held[0]?.seq ?? this.#next)
  }

  push(events: readonly Logged[]): void {
    this.#held.push(...events)
    this.#next = (this.#held.at(-1)?.seq ?? this.#next - 1) + 1
    if (this.#held.length > HELD) this.#held = this.#held.slice(-HELD / 2)
    this.#tell()
  }

  end(): void {
    this.#ended = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#wake()
    for (const wake of this.#whenEnded) wake()
  }

  /**
   * Writes events after `seq`. Returns the last position when the run has ended, the signal fires, the reader lags, or
   * the next event left memory.
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
    const pace = readers <= FEW ? 0 : Math.min(MAX_DELAY_MS, readers * MS_PER_READER)
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
