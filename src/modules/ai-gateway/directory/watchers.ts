import type { EndpointUse, ProviderEndpoint } from '#gateway/model/offer.ts'
import type { Id } from '#core/ids.ts'

const nothing = (): void => {}

interface Watcher {
  id: Id
  onRemoved: () => void
}

export class Watchers {
  /** Endpoints with requests in progress. */
  inUse: () => Iterable<EndpointUse> = () => []
  readonly #ownerOf = new WeakMap<ProviderEndpoint, Id>()
  readonly #byOwner = new Map<Id, Set<Watcher>>()
  readonly #serving: (ownerId: Id) => Promise<ReadonlySet<Id>>

  /** `serving`: returns the owner's serving endpoints. If it throws, no watcher is called. */
  constructor(serving: (ownerId: Id) => Promise<ReadonlySet<Id>>) {
    this.#serving = serving
  }

  owns(ownerId: Id, endpoint: ProviderEndpoint): void {
    this.#ownerOf.set(endpoint, ownerId)
  }

  /** Undefined: no owner. */
  ownerOf(endpoint: ProviderEndpoint): Id | undefined {
    return this.#ownerOf.get(endpoint)
  }

  add(endpoint: ProviderEndpoint, onRemoved: () => void): Disposable {
    const ownerId = this.#ownerOf.get(endpoint)
    if (ownerId === undefined) return { [Symbol.dispose]: nothing }
    const watching = this.#byOwner.get(ownerId) ?? new Set<Watcher>()
    this.#byOwner.set(ownerId, watching)
    const entry = { id: endpoint.id, onRemoved }
    watching.add(entry)
    // The endpoint may have been removed before it was watched.
    void this.#tell(ownerId, [entry])
    return {
      [Symbol.dispose]: () => {
        // Releases the stream, which the set's old backing store may still reference.
        entry.onRemoved = nothing
        watching.delete(entry)
        if (watching.size === 0 && this.#byOwner.get(ownerId) === watching) this.#byOwner.delete(ownerId)
      },
    }
  }

  look(ownerId: Id): void {
    const watching = [...(this.#byOwner.get(ownerId) ?? []), ...this.#usedOf(ownerId)]
    if (watching.length > 0) void this.#tell(ownerId, watching)
  }

  #usedOf(ownerId: Id): Watcher[] {
    const activeWatchers: Watcher[] = []
    for (const use of this.inUse())
      if (this.#ownerOf.get(use.endpoint) === ownerId)
        activeWatchers.push({ id: use.endpoint.id, onRemoved: () => use.gone() })
    return activeWatchers
  }

  async #tell(ownerId: Id, watching: readonly Watcher[]): Promise<void> {
    const serving = await this.#serving(ownerId).catch(() => null)
    if (serving !== null) for (const one of watching) if (!serving.has(one.id)) one.onRemoved()
  }
}
