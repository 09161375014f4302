import type { Engine } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { type Status, operations } from './store.ts'

export interface State {
  status: Status
  cancel_requested_at: Date | null
}

const POLL_MS = 1_000

/** One shared query for all waiting requests of this process, on wake-up and every second. */
export class OperationWatch {
  readonly #engine: Pick<Engine, 'bus' | 'postgres' | 'log'>
  readonly #watchers = new Map<Id, Set<(state: State | null) => void>>()
  #stop: (() => void) | null = null
  #looking = false
  #again = false

  constructor(engine: Pick<Engine, 'bus' | 'postgres' | 'log'>) {
    this.#engine = engine
  }

  /** Calls back with the current state and after possible changes. Null: the operation was deleted. */
  add(id: Id, see: (state: State | null) => void): Disposable {
    const watchers = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, watchers.add(see))
    this.#start()
    void this.#look()
    return {
      [Symbol.dispose]: () => {
        watchers.delete(see)
        if (watchers.size === 0) this.#watchers.delete(id)
        if (this.#watchers.size === 0) this.#stop?.()
      },
    }
  }

  #start(): void {
    if (this.#stop) return
    const timer = setInterval(() => void this.#look(), POLL_MS)
    const subscription = this.#engine.bus.on('operations', () => void this.#look())
    this.#stop = () => {
      clearInterval(timer)
      subscription[Symbol.dispose]()
      this.#stop = null
    }
  }

  async #look(): Promise<void> {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    while (this.#again && this.#watchers.size > 0) {
      this.#again = false
      // A watcher added during this query gets the next one, because this result may be outdated.
      const entries = [...this.#watchers].map(([id, watchers]) => ({ id, watchers, those: [...watchers] }))
      try {
        const states = new Map(
          (
            await operations.states(
              this.#engine.postgres.db,
              entries.map(({ id }) => id),
            )
          ).map((state) => [state.id, state]),
        )
        for (const { id, watchers, those } of entries)
          for (const see of those) if (watchers.has(see)) see(states.get(id) ?? null)
      } catch (error) {
        this.#engine.log.warn({ error }, 'operations cannot be watched right now')
      }
    }
    this.#looking = false
  }
}

export interface HasOperationWatch {
  operationWatch: OperationWatch
}
