import type { Config } from '#config'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { RightsWatch } from '#authz/rights.ts'
import type { Secrets } from '#infra/secrets.ts'
import { brokenRule } from '#gateway/routing/filter.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, rulesFor } from '#core/principal.ts'
import { shippedCatalogue } from '#gateway/catalogue/catalogue.ts'
import { REFRESH_MS, KnownLists } from '../lists/known-lists.ts'
import { CATALOGUE, readCatalogue } from '../catalogues/catalogue-store.ts'
import { Connections } from '../connections/connections.ts'
import { createEndpointTests } from '../connections/endpoint-tests.ts'
import { fixedSources, isDiscovered, unlessGiven } from './fixed-sources.ts'
import type { OwnSpeech } from '../endpoints/own-speech.ts'
import { type Machines, localOffersOf, namesLike } from './local-models.ts'
import { type OwnerOffers, type Reach, indexOffers, localByName, partsOf, reachableRows, resolve } from './reach.ts'
import { makesMedia } from './makes-media.ts'
import { refuseUnknown } from './refuse-unknown.ts'
import { type UsableOwners, mayUse, usableOwnersOf } from './usable-owners.ts'
import type { Row } from '../catalogues/rows.ts'
import type { EndpointDirectory } from './has-endpoints.ts'
import { hasKey } from '../endpoints/presets.ts'
import { resealAll } from '../endpoints/sealing.ts'
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
  /** Speech that this machine makes; null: none. */
  speech: OwnSpeech | null
}

/** Owners in memory at the same time; a full memory starts again. */
const MOST_OWNERS = 50_000
const MOST_NAMES = 2_000
/** No model's name is longer, with its provider or computer in front. */
const LONGEST_NAME = 600
const ASK_MS = 5_000
/** An engine on this machine that does not answer at once is not there. */
const LOOK_MS = 2_000

interface View {
  epoch: number
  /** The time when its providers' lists were last looked at. */
  checkedAt: number
  reach: Reach
  byName: Map<string, readonly Row[]>
  listed: { turn: number; text: readonly Row[]; media: readonly Row[]; failing: readonly Row[] } | null
}

/** Answers from memory; what it does not hold yet it reads from the database, and asks providers that no source knows. */
export async function createDirectory({
  config,
  postgres,
  secrets,
  bus,
  log,
  outbound,
  rights,
  machines,
  speech,
}: DirectoryParts): Promise<EndpointDirectory> {
  const { given, looked } = await fixedSources(config, log, secrets, speech)

  const byOwner = new Map<Id, OwnerOffers | Promise<OwnerOffers>>()
  const views = new WeakMap<Principal, View>()
  const watchers = new Watchers(servingOf)
  // Grows with every change of what anybody is offered: a view of another epoch is put together again.
  let epoch = 0
  // Grows as an endpoint begins or ceases to fail: lists are made again.
  let turns = 0
  let lookedAt = -Infinity

  const connections = new Connections({ postgres, bus, log, changed: () => void turns++ })
  const asked = new KnownLists(outbound, log, relist, (source, outcome) => connections.listed(source, outcome))
  let catalogue = shippedCatalogue()
  let renewing: Promise<void> = Promise.resolve()
  const hearing = rights.hear((id) => (id === CATALOGUE ? void (renewing = renewing.then(renew)) : forget(id)))
  // Under the watch, so that no change falls between.
  await (renewing = renewing.then(renew))

  /** Reads a new catalogue: everything that was put together from the old one is put together again. */
  async function renew(): Promise<void> {
    catalogue = await readCatalogue(postgres.db, log, catalogue)
    for (const ownerId of byOwner.keys()) relist(ownerId)
    epoch++
  }

  /** A provider said something new about what it serves. */
  function relist(ownerId: Id): void {
    const before = byOwner.get(ownerId)
    if (before === undefined) return
    if (before instanceof Promise)
      return void before.then(() => byOwner.get(ownerId) !== before && relist(ownerId)).catch(() => {})
    byOwner.set(
      ownerId,
      indexOffers(ownerId, before.sources, (source) => asked.of(source), catalogue, before.local),
    )
    epoch++
  }

  /** Forgets the endpoints of an account, a workspace or the instance: whatever changed there is read again. */
  function forget(ownerId: Id): void {
    if (byOwner.delete(ownerId)) epoch++
    watchers.look(ownerId)
  }

  async function servingOf(ownerId: Id): Promise<ReadonlySet<Id>> {
    try {
      const { sources, local } = await offersBy(ownerId)
      return new Set([...sources, ...local.map(({ source }) => source)].map(({ endpoint }) => endpoint.id))
    } catch (error) {
      log.warn({ error }, 'provider endpoints cannot be read')
      throw error
    }
  }

  function sourceOf(row: EndpointRow): Source | null {
    try {
      const source = storedSource(row, secrets)
      watchers.owns(row.owner_id, source.endpoint)
      return source
    } catch (error) {
      log.error({ error, provider_endpoint: row.id }, 'a provider endpoint’s key cannot be decrypted')
      return null
    }
  }

  function offersBy(ownerId: Id): OwnerOffers | Promise<OwnerOffers> {
    const known = byOwner.get(ownerId)
    if (known !== undefined) return known
    if (byOwner.size >= MOST_OWNERS) {
      byOwner.clear()
      // Views hold on to what was forgotten, and would not hear of its changes.
      epoch++
    }
    const loading = load(ownerId).then(
      (loaded) => {
        // An owner that was changed while it was read is read again by the next call.
        if (byOwner.get(ownerId) === loading) byOwner.set(ownerId, loaded)
        return loaded
      },
      (error: unknown) => {
        if (byOwner.get(ownerId) === loading) byOwner.delete(ownerId)
        throw error
      },
    )
    byOwner.set(ownerId, loading)
    return loading
  }

  async function load(ownerId: Id): Promise<OwnerOffers> {
    const [rows, lent] = await Promise.all([
      endpointStore.enabledOf(postgres.db, ownerId),
      ownerId === INSTANCE ? [] : machines.servingIn(ownerId),
    ])
    // Older ones may lack what is asked of new ones.
    const stored = rows.filter(hasKey).flatMap((row) => sourceOf(row) ?? [])
    const sources = ownerId === INSTANCE ? [...stored, ...given, ...unlessGiven(looked, stored)] : stored
    await connections.learn(sources.flatMap(({ endpoint }) => endpoint.connection ?? []))
    // An endpoint without its list would serve nothing; one that does not answer is not waited for again.
    const silent = sources.filter(
      (source) => needsModelList(source) && !isDiscovered(source) && !asked.wasAsked(source),
    )
    await Promise.all(silent.map((source) => asked.ask(source, ASK_MS)))
    const local = localOffersOf(ownerId, lent)
    for (const { source } of local) watchers.owns(ownerId, source.endpoint)
    return indexOffers(ownerId, sources, (source) => asked.of(source), catalogue, local)
  }

  function viewOf(principal: Principal): View | Promise<View> {
    const known = views.get(principal)
    if (known !== undefined && known.epoch === epoch) return renewed(known)
    const before = epoch
    const owners = usableOwnersOf(principal)
    const parts = [...owners.own, INSTANCE, ...owners.further].map(offersBy)
    if (!parts.some((part) => part instanceof Promise))
      return remember(principal, owners, parts as OwnerOffers[], before)
    return Promise.all(parts.map((part) => Promise.resolve(part))).then((loaded) =>
      remember(principal, owners, loaded, before),
    )
  }

  function remember(principal: Principal, { own }: UsableOwners, parts: readonly OwnerOffers[], at: number): View {
    const reach: Reach = {
      own: parts.slice(0, own.length),
      instance: parts[own.length]!,
      further: parts.slice(own.length + 1),
    }
    const view: View = { epoch: at, checkedAt: -Infinity, reach, byName: new Map(), listed: null }
    views.set(principal, view)
    return renewed(view)
  }

  /** Sees to it that lists which have become old are renewed. Nobody waits for that. */
  function renewed(view: View): View {
    const now = performance.now()
    if (now - view.checkedAt < REFRESH_MS) return view
    view.checkedAt = now
    for (const { sources } of partsOf(view.reach))
      for (const source of sources) if (!isDiscovered(source)) asked.refresh(source, ASK_MS)
    return view
  }

  const withView = <T>(principal: Principal, work: (view: View) => T): T | Promise<Awaited<T>> => {
    const view = viewOf(principal)
    return view instanceof Promise ? (view.then(work) as Promise<Awaited<T>>) : work(view)
  }

  /** Looks for engines on this machine, unless it did a moment ago. */
  function look(): Promise<unknown> | null {
    if (looked.length === 0 || performance.now() - lookedAt < REFRESH_MS) return null
    lookedAt = performance.now()
    return Promise.all(looked.map((source) => asked.ask(source, LOOK_MS, 0)))
  }

  function listedIn(view: View, principal: Principal): NonNullable<View['listed']> {
    void look()
    if (view.listed?.turn === turns) return view.listed
    const isFailing = ({ endpoint }: Row): boolean => connections.failing(endpoint) !== null
    const all = allowedTo(principal, reachableRows(view.reach, isFailing))
    const rows = all.filter((row) => !isFailing(row))
    const text = rows.filter(({ kind }) => kind === 'text' || kind === 'embedding')
    return (view.listed = { turn: turns, text, media: rows.filter(makesMedia), failing: all.filter(isFailing) })
  }

  function offersIn(view: View, model: string): readonly Row[] {
    const known = view.byName.get(model)
    if (known !== undefined) return known
    const rows = resolve(view.reach, model)
    if (view.byName.size >= MOST_NAMES) view.byName.clear()
    if (rows.length > 0) view.byName.set(model, rows)
    return rows
  }

  /** Asks the providers that could serve a model which none is known to serve, those that the name mentions first. */
  async function askAround(principal: Principal, known: View, model: string): Promise<readonly Row[]> {
    // Another process may have got the endpoint, or lent the computer, a moment ago.
    await rights.poll()
    const view = await withView(principal, (now) => now)
    if (view !== known) {
      const added = offersIn(view, model)
      if (added.length > 0) return added
    }
    const all = partsOf(view.reach).flatMap(({ sources }) => sources)
    const open = all.filter((source) => source.models.length === 0 && source.own === undefined && !isDiscovered(source))
    const named = open.filter(({ endpoint }) => model.startsWith(`${endpoint.slug}/`))
    await Promise.all([
      ...(named.length > 0
        ? named.map((source) => asked.askSilent(source, ASK_MS))
        : open.filter(needsModelList).map((source) => asked.ask(source, ASK_MS))),
      look(),
    ])
    const rows = await withView(principal, (again) => offersIn(again, model))
    if (rows.length > 0) return rows
    const names = await withView(principal, ({ reach }) => namesLike(localByName(reach), model))
    if (names.length > 0)
      refuse('not_found', {
        param: 'model',
        message: `Several computers have a model with this name. Choose one: ${names.map((one) => `\`${one}\``).join(', ')}.`,
      })
    // Whether there is such a model is not known: to say that there is none would be final.
    for (const source of named.filter(needsModelList)) {
      const failure = asked.whyUnknown(source)
      if (failure !== null) refuseUnknown(source, failure)
    }
    return rows
  }

  const running = resealAll(postgres.db, secrets, log).catch((error: unknown) =>
    log.warn({ error }, 'provider endpoint keys were not re-encrypted'),
  )
  // Loaded ahead, so that the first call waits for one owner less; and engines are looked for while the server starts.
  void Promise.resolve(offersBy(INSTANCE)).then(look, (error: unknown) =>
    log.warn({ error }, 'provider endpoints cannot be read'),
  )

  const tests = createEndpointTests({
    outbound,
    postgres,
    log,
    asked,
    connections,
    fixed: [...given, ...looked],
    sourceOf,
    catalogue: () => catalogue,
  })

  return {
    offers(principal, model) {
      if (model.length > LONGEST_NAME) return []
      void look()
      return withView(principal, (view) => {
        const rows = offersIn(view, model)
        return rows.length > 0 ? rows : askAround(principal, view, model)
      })
    },
    models: (principal) => withView(principal, (view) => listedIn(view, principal).text),
    mediaModels: (principal) => withView(principal, (view) => listedIn(view, principal).media),
    failingModels: (principal) => withView(principal, (view) => listedIn(view, principal).failing),
    async sources(principal) {
      await look()
      const { reach } = await viewOf(principal)
      return partsOf(reach).flatMap(({ sources, local }) => [...sources, ...new Set(local.map(({ source }) => source))])
    },
    catalogue: () => catalogue,
    async refresh() {
      await rights.poll()
      await renewing
      bus.poke('rights')
    },
    mayUse: (principal, endpoint) => mayUse(principal, watchers.ownerOf(endpoint)),
    watch: (endpoint, gone) => watchers.add(endpoint, gone),
    inUse: (using) => void (watchers.inUse = using),
    failing: (endpoint) => connections.failing(endpoint),
    called: (endpoint, outcome, model) => connections.called(endpoint, outcome, model),
    refuses: ({ endpoint, upstreamModel }) => endpoint.away === true || connections.refuses(endpoint, upstreamModel),
    standings: (sources) => tests.standings(sources),
    standingsOf: (rows) => tests.standings(rows.map(sourceOf)),
    test: (row) => tests.test(row),
    async [Symbol.asyncDispose]() {
      hearing[Symbol.dispose]()
      await tests[Symbol.asyncDispose]()
      await connections[Symbol.asyncDispose]()
      await renewing
      await running
    },
  }
}

/** The part of a list that the rules of the caller's workspace allow. */
function allowedTo(principal: Principal, rows: readonly Row[]): readonly Row[] {
  const { credential, personalWorkspaceId } = principal
  const bound = credential.kind === 'session' ? null : credential.workspaceId
  const rules = rulesFor(principal, bound ?? personalWorkspaceId)
  return rules === undefined ? rows : rows.filter((offer) => brokenRule(offer, { rules }) === undefined)
}
