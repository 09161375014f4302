import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#engine/log.ts'
import type { Postgres } from '#engine/postgres/client.ts'
import type { Id } from '#kernel/ids.ts'
import { runStore } from './run-store.ts'

const POLL_MS = 50

interface Watcher {
  runId: Id
  seq: number
  wake: () => void
}

/**
 * Runs that this process does not run, watched for its readers: one look at the database for all of them, as long as
 * somebody waits.
 */
export class RunWatch {
  readonly #postgres: Postgres
  readonly #log: Log
  readonly #watchers = new Set<Watcher>()
  #looking = false

  constructor(postgres: Postgres, log: Log) {
    this.#postgres = postgres
    this.#log = log
  }

  /** Resolves when the run has an event beyond `seq`, has come to an end or is gone, or the signal fires. */
  moved(runId: Id, seq: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const watcher: Watcher = {
      runId,
      seq,
      wake: () => {
        this.#watchers.delete(watcher)
        signal.removeEventListener('abort', watcher.wake)
        resolve()
      },
    }
    signal.addEventListener('abort', watcher.wake, { once: true })
    this.#watchers.add(watcher)
    void this.#look()
    return promise
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    while (this.#watchers.size > 0) {
      await sleep(POLL_MS)
      try {
        const asked = [...this.#watchers].map(({ runId, seq }) => ({ id: runId, seq }))
        const moved = new Set((await runStore.moved(this.#postgres, asked)).map(({ id, seq }) => `${id} ${seq}`))
        for (const watcher of this.#watchers) if (moved.has(`${watcher.runId} ${watcher.seq}`)) watcher.wake()
      } catch (error) {
        this.#log.warn({ error }, 'runs cannot be watched now')
      }
    }
    this.#looking = false
  }
}
