import type { Id } from '#core/ids.ts'
import type { Logged } from '../runs/event-store.ts'
import type { RunEvent } from '../runs/facts.ts'
import { Tail } from './tail.ts'

/** The log of a run in this process. Events are numbered when appended, and shown once they are durable. */
export class RunLog {
  readonly runId: Id
  readonly fence: number
  readonly tail: Tail
  waiting = 0
  #next: number
  readonly #lost = new AbortController()

  constructor(runId: Id, fence: number, lastSeq: number, shown: readonly Logged[]) {
    this.runId = runId
    this.fence = fence
    this.#next = lastSeq + 1
    this.tail = new Tail(runId, lastSeq - shown.length)
    this.tail.push(shown)
  }

  get lastSeq(): number {
    return this.#next - 1
  }
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  number(fact: RunEvent): Logged {
    return { ...fact, seq: this.#next++, at: new Date() }
  }

  lose(): void {
    this.#lost.abort(new Error('another process has the run'))
    this.tail.end()
  }
}
