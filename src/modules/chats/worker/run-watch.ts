import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#infra/log.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { eventStore } from '../runs/event-store.ts'
import { isFinished, runStore } from '../runs/run-store.ts'
import { RunEventBatch } from '../runs/show.ts'

const POLL_MS = 50
const PAGE = 500

/** `over`: the run has ended and has no further events. */
interface Page {
  batch: RunEventBatch
  upTo: number
  over: boolean
}

interface Watcher {
  runId: Id
  seq: number
  wake: () => void
}

/**
 * Watches runs of other processes for readers here: one query for all runs, and one read per run for all its readers.
 */
export class RunWatch {
  readonly #postgres: Postgres
  readonly #log: Log
  readonly #watchers = new Set<Watcher>()
  readonly #pages = new Map<string, Promise<Page>>()
  #looking = false

  constructor(postgres: Postgres, log: Log) {
    this.#postgres = postgres
    this.#log = log
  }

  /** Resolves when the run has events after `seq`, has ended or was deleted, or the signal fires. */
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

  page(runId: Id, seq: number): Promise<Page> {
    const key = keyOf({ id: runId, seq })
    const pendingPage = this.#pages.get(key)
    if (pendingPage) return pendingPage
    const page = this.#read(runId, seq).finally(() => this.#pages.delete(key))
    this.#pages.set(key, page)
    return page
  }

  async #read(runId: Id, seq: number): Promise<Page> {
    // Read before the events: a run that ends in between is noticed on the next query.
    const [run] = await runStore.byIds(this.#postgres.db, [runId])
    const events = await eventStore.after(this.#postgres, runId, seq, PAGE)
    return {
      batch: new RunEventBatch(runId, events),
      upTo: events.at(-1)?.seq ?? seq,
      over: (run === undefined || isFinished(run.status)) && events.length < PAGE,
    }
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    while (this.#watchers.size > 0) {
      await sleep(POLL_MS)
      try {
        const watched = [...this.#watchers].map(({ runId, seq }) => ({ id: runId, seq }))
        const uniqueRuns = [...new Map(watched.map((run) => [keyOf(run), run])).values()]
        const movedKeys = new Set((await eventStore.moved(this.#postgres, uniqueRuns)).map(keyOf))
        for (const watcher of this.#watchers)
          if (movedKeys.has(keyOf({ id: watcher.runId, seq: watcher.seq }))) watcher.wake()
      } catch (error) {
        this.#log.warn({ error }, 'runs cannot be watched right now')
      }
    }
    this.#looking = false
  }
}

const keyOf = ({ id, seq }: { id: Id; seq: number }): string => `${id} ${seq}`
