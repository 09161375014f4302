import type { Id } from '#kernel/ids.ts'

const nothing = (): void => {}

/** Watchers of endpoints, by their owner: they hear that one no longer serves. */
export class Watchers {
  readonly #byOwner = new Map<Id, Set<{ id: Id; gone: () => void }>>()
  readonly #serving: (ownerId: Id) => Promise<ReadonlySet<Id>>

  /** `serving`: which endpoints of an owner serve now. Where it throws, nobody is told. */
  constructor(serving: (ownerId: Id) => Promise<ReadonlySet<Id>>) {
    this.#serving = serving
  }

  add(ownerId: Id, endpointId: Id, gone: () => void): Disposable {
    const watching = this.#byOwner.get(ownerId) ?? new Set()
    this.#byOwner.set(ownerId, watching)
    const entry = { id: endpointId, gone }
    watching.add(entry)
    // It may have gone while its first word was waited for.
    void this.#tell(ownerId, new Set([entry]))
    return {
      [Symbol.dispose]: () => {
        // The stream is not to live on in what the set leaves behind when it grows.
        entry.gone = nothing
        watching.delete(entry)
        if (watching.size === 0 && this.#byOwner.get(ownerId) === watching) this.#byOwner.delete(ownerId)
      },
    }
  }

  /** Something of this owner changed. */
  look(ownerId: Id): void {
    const watching = this.#byOwner.get(ownerId)
    if (watching) void this.#tell(ownerId, watching)
  }

  async #tell(ownerId: Id, watching: ReadonlySet<{ id: Id; gone: () => void }>): Promise<void> {
    const serving = await this.#serving(ownerId).catch(() => null)
    if (serving !== null) for (const { id, gone } of watching) if (!serving.has(id)) gone()
  }
}
