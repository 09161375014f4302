import type { Engine } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { type Status, operations } from './store.ts'

export interface State {
  status: Status
  cancel_requested_at: Date | null
}

const POLL_MS = 1_000

/** Watches operations for all who wait in this process with one look: when the bus wakes it, else every second. */
export class OperationWatch {
  readonly #engine: Pick<Engine, 'bus' | 'postgres' | 'log'>
  readonly #watched = new Map<Id, Set<(state: State | null) => void>>()
  #stop: (() => void) | null = null
  #looking = false
  #again = false

  constructor(engine: Pick<Engine, 'bus' | 'postgres' | 'log'>) {
    this.#engine = engine
  }

  /** Calls back with the state of an operation now and whenever it may have changed; null when it is gone. */
  add(id: Id, see: (state: State | null) => void): Disposable {
    const watchers = this.#watched.get(id) ?? new Set()
    this.#watched.set(id, watchers.add(see))
    this.#start()
    void this.#look()
    return {
      [Symbol.dispose]: () => {
        watchers.delete(see)
        if (watchers.size === 0) this.#watched.delete(id)
        if (this.#watched.size === 0) this.#stop?.()
      },
    }
  }

  #start(): void {
    if (this.#stop) return
    const timer = setInterval(() => void this.#look(), POLL_MS)
    const woken = this.#engine.bus.on('operations', () => void this.#look())
    this.#stop = () => {
      clearInterval(timer)
      woken[Symbol.dispose]()
      this.#stop = null
    }
  }

  async #look(): Promise<void> {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    while (this.#again && this.#watched.size > 0) {
      this.#again = false
      // Watchers that come while this look is under way get the next one: what this one saw may be older than what they know.
      const asked = [...this.#watched].map(([id, watchers]) => ({ id, watchers, those: [...watchers] }))
      try {
        const states = new Map(
          (
            await operations.states(
              this.#engine.postgres.db,
              asked.map(({ id }) => id),
            )
          ).map((state) => [state.id, state]),
        )
        for (const { id, watchers, those } of asked)
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
