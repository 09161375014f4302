import type { Config } from '#config'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { RightsWatch } from '#authz/rights.ts'
import type { Secrets } from '#infra/secrets.ts'
import type { Id } from '#core/ids.ts'
import { shippedCatalogue } from '#gateway/catalogue/catalogue.ts'
import { REFRESH_MS, KnownLists } from '../lists/known-lists.ts'
import { CATALOGUE, readCatalogue } from '../catalogues/catalogue-store.ts'
import { Connections } from '../connections/connections.ts'
import { type FixedSources, isDiscovered, unlessGiven } from './fixed-sources.ts'
import type { OwnSpeech } from '../endpoints/own-speech.ts'
import { type Machines, localOffersOf } from './local-models.ts'
import { type OwnerOffers, indexOffers } from './reach.ts'
import { hasKey } from '../endpoints/presets.ts'
import { type Source, needsModelList, storedSource } from '../endpoints/sources.ts'
import { type EndpointRow, INSTANCE, endpointStore } from '../store.ts'
import { Watchers } from './watchers.ts'

export interface DirectoryParts {
  config: Config
  postgres: Postgres
  secrets: Secrets
  bus: Bus
  log: Log
  outbound: Outbound
  machines: Machines
  rights: RightsWatch
  /** The speech engine of this machine. */
  speech: OwnSpeech | null
}

/** Owners in memory. It is cleared when full. */
const MAX_OWNERS = 50_000
/** The time that a provider has to list its models. */
export const ASK_MS = 5_000
/** An engine on this machine answers at once or isn't running. */
const LOOK_MS = 2_000

/** The offers of accounts, workspaces and the instance, loaded on demand and dropped when they change. */
export class OfferCache implements AsyncDisposable {
  readonly connections: Connections
  readonly lists: KnownLists
  readonly watchers = new Watchers((ownerId) => this.#servingOf(ownerId))
  catalogue = shippedCatalogue()
  /** Increases with every change of anyone's offers. */
  epoch = 0
  /** Increases when an endpoint starts or stops failing. */
  failureTurns = 0
  renewing: Promise<void> = Promise.resolve()
  readonly #parts: DirectoryParts
  readonly #fixed: FixedSources
  readonly #byOwner = new Map<Id, OwnerOffers | Promise<OwnerOffers>>()
  readonly #hearing: Disposable
  #lookedAt = -Infinity

  constructor(parts: DirectoryParts, fixed: FixedSources) {
    const { postgres, bus, log, outbound, rights } = parts
    this.#parts = parts
    this.#fixed = fixed
    this.connections = new Connections({ postgres, bus, log, changed: () => void this.failureTurns++ })
    this.lists = new KnownLists(
      outbound,
      log,
      (ownerId) => this.#relist(ownerId),
      (source, outcome) => this.connections.listed(source, outcome),
    )
    this.#hearing = rights.hear((id) => (id === CATALOGUE ? void this.renew() : this.#forget(id)))
  }

  /** Reads the catalogue, after earlier reads, and rebuilds what depends on it. */
  renew(): Promise<void> {
    return (this.renewing = this.renewing.then(() => this.#readCatalogue()))
  }

  async #readCatalogue(): Promise<void> {
    this.catalogue = await readCatalogue(this.#parts.postgres.db, this.#parts.log, this.catalogue)
    for (const ownerId of this.#byOwner.keys()) this.#relist(ownerId)
    this.epoch++
  }

  /** Rebuilds the offers of an owner whose provider serves other models than before. */
  #relist(ownerId: Id): void {
    const before = this.#byOwner.get(ownerId)
    if (before === undefined) return
    if (before instanceof Promise)
      return void before.then(() => this.#byOwner.get(ownerId) !== before && this.#relist(ownerId)).catch(() => {})
    this.#byOwner.set(
      ownerId,
      indexOffers(ownerId, before.sources, (source) => this.lists.of(source), this.catalogue, before.local),
    )
    this.epoch++
  }

  /** Drops the endpoints of an account, a workspace or the instance after a change. */
  #forget(ownerId: Id): void {
    if (this.#byOwner.delete(ownerId)) this.epoch++
    this.watchers.look(ownerId)
  }

  async #servingOf(ownerId: Id): Promise<ReadonlySet<Id>> {
    try {
      const { sources, local } = await this.offersBy(ownerId)
      return new Set([...sources, ...local.map(({ source }) => source)].map(({ endpoint }) => endpoint.id))
    } catch (error) {
      this.#parts.log.warn({ error }, 'provider endpoints cannot be read')
      throw error
    }
  }

  sourceOf(row: EndpointRow): Source | null {
    try {
      const source = storedSource(row, this.#parts.secrets)
      this.watchers.owns(row.owner_id, source.endpoint)
      return source
    } catch (error) {
      this.#parts.log.error({ error, provider_endpoint: row.id }, 'a provider endpoint’s key cannot be decrypted')
      return null
    }
  }

  offersBy(ownerId: Id): OwnerOffers | Promise<OwnerOffers> {
    const offers = this.#byOwner.get(ownerId)
    if (offers !== undefined) return offers
    if (this.#byOwner.size >= MAX_OWNERS) {
      this.#byOwner.clear()
      // Views still refer to the cleared offers and wouldn't see their changes.
      this.epoch++
    }
    const loading = this.#load(ownerId).then(
      (loaded) => {
        // If the owner changed meanwhile, the next call reads it again.
        if (this.#byOwner.get(ownerId) === loading) this.#byOwner.set(ownerId, loaded)
        return loaded
      },
      (error: unknown) => {
        if (this.#byOwner.get(ownerId) === loading) this.#byOwner.delete(ownerId)
        throw error
      },
    )
    this.#byOwner.set(ownerId, loading)
    return loading
  }

  async #load(ownerId: Id): Promise<OwnerOffers> {
    const [rows, lent] = await Promise.all([
      endpointStore.enabledOf(this.#parts.postgres.db, ownerId),
      ownerId === INSTANCE ? [] : this.#parts.machines.servingIn(ownerId),
    ])
    // Old rows may lack a key, which is now required.
    const stored = rows.filter(hasKey).flatMap((row) => this.sourceOf(row) ?? [])
    const sources =
      ownerId === INSTANCE ? [...stored, ...this.#fixed.given, ...unlessGiven(this.#fixed.looked, stored)] : stored
    await this.connections.learn(sources.flatMap(({ endpoint }) => endpoint.connection ?? []))
    // Without its list an endpoint serves nothing. One that didn't answer before isn't waited for.
    const silent = sources.filter(
      (source) => needsModelList(source) && !isDiscovered(source) && !this.lists.wasAsked(source),
    )
    await Promise.all(silent.map((source) => this.lists.ask(source, ASK_MS)))
    const local = localOffersOf(ownerId, lent)
    for (const { source } of local) this.watchers.owns(ownerId, source.endpoint)
    return indexOffers(ownerId, sources, (source) => this.lists.of(source), this.catalogue, local)
  }

  /** Looks for engines on this machine, unless it just did. */
  look(): Promise<unknown> | null {
    const { looked } = this.#fixed
    if (looked.length === 0 || performance.now() - this.#lookedAt < REFRESH_MS) return null
    this.#lookedAt = performance.now()
    return Promise.all(looked.map((source) => this.lists.ask(source, LOOK_MS, 0)))
  }

  stopListening(): void {
    this.#hearing[Symbol.dispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connections[Symbol.asyncDispose]()
    await this.renewing
  }
}
