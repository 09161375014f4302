import type { Id } from '#kernel/ids.ts'
import type { Fact } from './answer.ts'
import type { Logged } from './run-store.ts'

/** How much of a run's log is held in memory for readers of this process; older events they read from the table. */
const HELD = 2_000

/**
 * The log of a run that this process runs. What is appended gets its number at once and is shown to readers once the
 * writer has made it durable.
 */
export class RunLog {
  readonly runId: Id
  readonly fence: number
  /** Appended, not durable yet. */
  waiting = 0
  #next: number
  #held: Logged[] = []
  #ended = false
  readonly #lost = new AbortController()
  readonly #readers = new Set<() => void>()

  constructor(runId: Id, fence: number, lastSeq: number) {
    this.runId = runId
    this.fence = fence
    this.#next = lastSeq + 1
  }

  /** The number of the event appended last. */
  get lastSeq(): number {
    return this.#next - 1
  }
  /** Fires when another process has the run. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }
  /** Nothing more will come from here. */
  get ended(): boolean {
    return this.#ended
  }

  number(fact: Fact): Logged {
    return { ...fact, seq: this.#next++, at: new Date() }
  }

  /** They are durable: readers may see them. */
  show(events: readonly Logged[]): void {
    this.#held.push(...events)
    if (this.#held.length > HELD) this.#held = this.#held.slice(-HELD / 2)
    this.#wake()
  }

  /** Events behind `seq`; null when they are no longer, or not yet, in memory and the table has to be asked. */
  after(seq: number): readonly Logged[] | null {
    const first = this.#held[0]?.seq ?? this.#next
    if (seq + 1 < first) return null
    return this.#held.slice(Math.max(0, seq + 1 - first))
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  lose(): void {
    this.#lost.abort(new Error('another process has the run'))
    this.end()
  }

  /** Resolves when it has ended, or the signal fires. */
  async over(signal: AbortSignal): Promise<void> {
    while (!this.#ended && !signal.aborted) await this.more(Infinity, signal)
  }

  /** Resolves when there may be more behind `seq`, it has ended, or the signal fires. */
  more(seq: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#ended || signal.aborted || (this.#held.at(-1)?.seq ?? 0) > seq) return Promise.resolve()
    const wake = (): void => {
      this.#readers.delete(wake)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    this.#readers.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    return promise
  }

  #wake(): void {
    for (const wake of this.#readers) wake()
  }
}
