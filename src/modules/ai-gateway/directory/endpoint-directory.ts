import type { EndpointUse, Offer, ProviderEndpoint } from '#gateway/model/offer.ts'
import type { CallOutcome } from '#gateway/routing/health.ts'
import { brokenRule } from '#gateway/routing/filter.ts'
import { refuse } from '#core/errors.ts'
import { type Principal, rulesFor } from '#core/principal.ts'
import { type Catalogue } from '#gateway/catalogue/catalogue.ts'
import { REFRESH_MS } from '../lists/known-lists.ts'
import type { Standing, TestOutcome } from '../connections/connection-state.ts'
import { createEndpointTests } from '../connections/endpoint-tests.ts'
import { type FixedSources, fixedSources, isDiscovered } from './fixed-sources.ts'
import { namesLike } from './local-models.ts'
import { type OwnerOffers, type Reach, localByName, partsOf, reachableRows, resolve } from './reach.ts'
import { makesMedia } from './makes-media.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import { type UsableOwners, mayUse, usableOwnersOf } from './usable-owners.ts'
import type { Row } from '../catalogues/rows.ts'
import type { EndpointDirectory } from './has-endpoints.ts'
import { ASK_MS, type DirectoryParts, OfferCache } from './offer-cache.ts'
import { resealAll } from '../endpoints/sealing.ts'
import { type Source, needsModelList } from '../endpoints/sources.ts'
import { type EndpointRow, INSTANCE } from '../store.ts'

const MAX_NAMES = 2_000
/** The longest name of a model, including its provider or computer. */
const MAX_NAME_CHARACTERS = 600

interface View {
  /** The view is rebuilt when the epoch of the cache changes. */
  epoch: number
  /** When its providers' lists were last refreshed, on the clock of `performance.now()`. */
  checkedAt: number
  reach: Reach
  byName: Map<string, readonly Row[]>
  listed: { turn: number; text: readonly Row[]; media: readonly Row[]; failing: readonly Row[] } | null
}

/** Answers from memory. Loads missing owners from the database, and asks providers for models that no list names. */
export async function createDirectory(parts: DirectoryParts): Promise<EndpointDirectory> {
  const { config, log, secrets, speech } = parts
  await using stack = new AsyncDisposableStack()
  const directory = stack.use(new CachedDirectory(parts, await fixedSources(config, log, secrets, speech)))
  await directory.load()
  stack.move()
  return directory
}

class CachedDirectory implements EndpointDirectory {
  readonly #parts: DirectoryParts
  readonly #cache: OfferCache
  readonly #views = new WeakMap<Principal, View>()
  readonly #tests: ReturnType<typeof createEndpointTests>
  #resealing: Promise<void> = Promise.resolve()

  constructor(parts: DirectoryParts, fixed: FixedSources) {
    const { postgres, log, outbound } = parts
    this.#parts = parts
    this.#cache = new OfferCache(parts, fixed)
    this.#tests = createEndpointTests({
      outbound,
      postgres,
      log,
      asked: this.#cache.lists,
      connections: this.#cache.connections,
      fixed: [...fixed.given, ...fixed.looked],
      sourceOf: (row) => this.#cache.sourceOf(row),
      catalogue: () => this.#cache.catalogue,
    })
  }

  async load(): Promise<void> {
    const { postgres, secrets, log } = this.#parts
    await this.#cache.renew()
    this.#resealing = resealAll(postgres.db, secrets, log).catch((error: unknown) =>
      log.warn({ error }, 'provider endpoint keys were not re-encrypted'),
    )
    // Loaded early, so that the first call waits for one owner less. Local engines are found while the server starts.
    void Promise.resolve(this.#cache.offersBy(INSTANCE)).then(
      () => this.#cache.look(),
      (error: unknown) => log.warn({ error }, 'provider endpoints cannot be read'),
    )
  }

  offers(principal: Principal, model: string): readonly Row[] | Promise<readonly Row[]> {
    if (model.length > MAX_NAME_CHARACTERS) return []
    void this.#cache.look()
    return this.#withView(principal, (view) => {
      const rows = offersIn(view, model)
      return rows.length > 0 ? rows : this.#askAround(principal, view, model)
    })
  }

  models(principal: Principal): readonly Row[] | Promise<readonly Row[]> {
    return this.#withView(principal, (view) => this.#listedIn(view, principal).text)
  }

  mediaModels(principal: Principal): readonly Row[] | Promise<readonly Row[]> {
    return this.#withView(principal, (view) => this.#listedIn(view, principal).media)
  }

  failingModels(principal: Principal): readonly Row[] | Promise<readonly Row[]> {
    return this.#withView(principal, (view) => this.#listedIn(view, principal).failing)
  }

  async sources(principal: Principal): Promise<readonly Source[]> {
    await this.#cache.look()
    const { reach } = await this.#viewOf(principal)
    return partsOf(reach).flatMap(({ sources, local }) => [...sources, ...new Set(local.map(({ source }) => source))])
  }

  catalogue(): Catalogue {
    return this.#cache.catalogue
  }

  async refresh(): Promise<void> {
    await this.#parts.rights.poll()
    await this.#cache.renewing
    this.#parts.bus.poke('rights')
  }

  mayUse(principal: Principal, endpoint: ProviderEndpoint): boolean {
    return mayUse(principal, this.#cache.watchers.ownerOf(endpoint))
  }

  watch(endpoint: ProviderEndpoint, gone: () => void): Disposable {
    return this.#cache.watchers.add(endpoint, gone)
  }

  inUse(using: () => Iterable<EndpointUse>): void {
    this.#cache.watchers.inUse = using
  }

  failing(endpoint: ProviderEndpoint): string | null {
    return this.#cache.connections.failing(endpoint)
  }

  called(endpoint: ProviderEndpoint, outcome: CallOutcome, model: string): void {
    this.#cache.connections.called(endpoint, outcome, model)
  }

  refuses({ endpoint, upstreamModel }: Offer): boolean {
    return endpoint.away === true || this.#cache.connections.refuses(endpoint, upstreamModel)
  }

  standings(sources: readonly Source[]): Promise<readonly Standing[]> {
    return this.#tests.standings(sources)
  }

  standingsOf(rows: readonly EndpointRow[]): Promise<readonly Standing[]> {
    return this.#tests.standings(rows.map((row) => this.#cache.sourceOf(row)))
  }

  test(row: EndpointRow): Promise<TestOutcome> {
    return this.#tests.test(row)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cache.stopListening()
    await this.#tests[Symbol.asyncDispose]()
    await this.#cache[Symbol.asyncDispose]()
    await this.#resealing
  }

  #viewOf(principal: Principal): View | Promise<View> {
    const cachedView = this.#views.get(principal)
    if (cachedView !== undefined && cachedView.epoch === this.#cache.epoch) return this.#refreshLists(cachedView)
    const epochBefore = this.#cache.epoch
    const owners = usableOwnersOf(principal)
    const parts = [...owners.own, INSTANCE, ...owners.further].map((ownerId) => this.#cache.offersBy(ownerId))
    if (!parts.some((part) => part instanceof Promise))
      return this.#remember(principal, owners, parts as OwnerOffers[], epochBefore)
    return Promise.all(parts.map((part) => Promise.resolve(part))).then((loaded) =>
      this.#remember(principal, owners, loaded, epochBefore),
    )
  }

  #remember(principal: Principal, { own }: UsableOwners, parts: readonly OwnerOffers[], epoch: number): View {
    const reach: Reach = {
      own: parts.slice(0, own.length),
      instance: parts[own.length]!,
      further: parts.slice(own.length + 1),
    }
    const view: View = { epoch, checkedAt: -Infinity, reach, byName: new Map(), listed: null }
    this.#views.set(principal, view)
    return this.#refreshLists(view)
  }

  /** Refreshes outdated lists in the background. */
  #refreshLists(view: View): View {
    const now = performance.now()
    if (now - view.checkedAt < REFRESH_MS) return view
    view.checkedAt = now
    for (const { sources } of partsOf(view.reach))
      for (const source of sources) if (!isDiscovered(source)) this.#cache.lists.refresh(source, ASK_MS)
    return view
  }

  #withView<T>(principal: Principal, work: (view: View) => T): T | Promise<Awaited<T>> {
    const view = this.#viewOf(principal)
    return view instanceof Promise ? (view.then(work) as Promise<Awaited<T>>) : work(view)
  }

  #listedIn(view: View, principal: Principal): NonNullable<View['listed']> {
    void this.#cache.look()
    if (view.listed?.turn === this.#cache.failureTurns) return view.listed
    const isFailing = ({ endpoint }: Row): boolean => this.#cache.connections.failing(endpoint) !== null
    const all = allowedTo(principal, reachableRows(view.reach, isFailing))
    const rows = all.filter((row) => !isFailing(row))
    const text = rows.filter(({ kind }) => kind === 'text' || kind === 'embedding')
    return (view.listed = {
      turn: this.#cache.failureTurns,
      text,
      media: rows.filter(makesMedia),
      failing: all.filter(isFailing),
    })
  }

  /** Asks providers whether they serve a model that no list has: those named in it, or else all. */
  async #askAround(principal: Principal, usedView: View, model: string): Promise<readonly Row[]> {
    // Another process may just have added the endpoint or shared the computer.
    await this.#parts.rights.poll()
    const view = await this.#withView(principal, (now) => now)
    if (view !== usedView) {
      const added = offersIn(view, model)
      if (added.length > 0) return added
    }
    const all = partsOf(view.reach).flatMap(({ sources }) => sources)
    const open = all.filter((source) => source.models.length === 0 && source.own === undefined && !isDiscovered(source))
    const named = open.filter(({ endpoint }) => model.startsWith(`${endpoint.slug}/`))
    await Promise.all([
      ...(named.length > 0
        ? named.map((source) => this.#cache.lists.askSilent(source, ASK_MS))
        : open.filter(needsModelList).map((source) => this.#cache.lists.ask(source, ASK_MS))),
      this.#cache.look(),
    ])
    const rows = await this.#withView(principal, (again) => offersIn(again, model))
    if (rows.length > 0) return rows
    const names = await this.#withView(principal, ({ reach }) => namesLike(localByName(reach), model))
    if (names.length > 0)
      refuse('not_found', {
        param: 'model',
        message: `Several computers have a model with this name. Choose one: ${names.map((one) => `\`${one}\``).join(', ')}.`,
      })
    // While a list can't be read, the model may exist: clients take `not_found` as final.
    for (const source of named.filter(needsModelList)) {
      const failure = this.#cache.lists.whyUnknown(source)
      if (failure !== null) refuseUnknown(source, failure)
    }
    return rows
  }
}

/** The models that the rules of the caller's workspace allow. */
function allowedTo(principal: Principal, rows: readonly Row[]): readonly Row[] {
  const { credential, personalWorkspaceId } = principal
  const bound = credential.kind === 'session' ? null : credential.workspaceId
  const rules = rulesFor(principal, bound ?? personalWorkspaceId)
  return rules === undefined ? rows : rows.filter((offer) => brokenRule(offer, { rules }) === undefined)
}

function offersIn(view: View, model: string): readonly Row[] {
  const cachedRows = view.byName.get(model)
  if (cachedRows !== undefined) return cachedRows
  const rows = resolve(view.reach, model)
  if (view.byName.size >= MAX_NAMES) view.byName.clear()
  if (rows.length > 0) view.byName.set(model, rows)
  return rows
}
