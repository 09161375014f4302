import type { EndpointUse, ProviderEndpoint } from '#gateway/model/offer.ts'
import type { Id } from '#core/ids.ts'

const nothing = (): void => {}

interface Watched {
  id: Id
  /** Called when the endpoint no longer serves. */
  gone: () => void
}

/** Watchers of endpoints, by their owner: they hear that one no longer serves. */
export class Watchers {
  /** The endpoints that are answering right now; asked at each change. */
  inUse: () => Iterable<EndpointUse> = () => []
  readonly #ownerOf = new WeakMap<ProviderEndpoint, Id>()
  readonly #byOwner = new Map<Id, Set<Watched>>()
  readonly #serving: (ownerId: Id) => Promise<ReadonlySet<Id>>

  /** `serving`: which endpoints of an owner serve now. Where it throws, nobody is told. */
  constructor(serving: (ownerId: Id) => Promise<ReadonlySet<Id>>) {
    this.#serving = serving
  }

  /** An endpoint as offers have it from now on; one without an owner stays as it is. */
  owns(ownerId: Id, endpoint: ProviderEndpoint): void {
    this.#ownerOf.set(endpoint, ownerId)
  }

  /** Undefined: nobody's. */
  ownerOf(endpoint: ProviderEndpoint): Id | undefined {
    return this.#ownerOf.get(endpoint)
  }

  add(endpoint: ProviderEndpoint, gone: () => void): Disposable {
    const ownerId = this.#ownerOf.get(endpoint)
    if (ownerId === undefined) return { [Symbol.dispose]: nothing }
    const watching = this.#byOwner.get(ownerId) ?? new Set<Watched>()
    this.#byOwner.set(ownerId, watching)
    const entry = { id: endpoint.id, gone }
    watching.add(entry)
    // It may have gone while its first word was waited for.
    void this.#tell(ownerId, [entry])
    return {
      [Symbol.dispose]: () => {
        // The stream is not to live on in what the set leaves behind when it grows.
        entry.gone = nothing
        watching.delete(entry)
        if (watching.size === 0 && this.#byOwner.get(ownerId) === watching) this.#byOwner.delete(ownerId)
      },
    }
  }

  /** Checks the watched endpoints of an owner, of whom something changed. */
  look(ownerId: Id): void {
    const watching = [...(this.#byOwner.get(ownerId) ?? []), ...this.#usedOf(ownerId)]
    if (watching.length > 0) void this.#tell(ownerId, watching)
  }

  #usedOf(ownerId: Id): Watched[] {
    const used: Watched[] = []
    for (const use of this.inUse())
      if (this.#ownerOf.get(use.endpoint) === ownerId) used.push({ id: use.endpoint.id, gone: () => use.gone() })
    return used
  }

  async #tell(ownerId: Id, watching: readonly Watched[]): Promise<void> {
    const serving = await this.#serving(ownerId).catch(() => null)
    if (serving !== null) for (const one of watching) if (!serving.has(one.id)) one.gone()
  }
}
