/** Models on connected computers: `local/<name>`, and the platform models they are mapped to. */
import type { Dispatch, ProviderEndpoint } from '#gateway/model/offer.ts'
import { unknownAbilities } from '#gateway/catalogue/media.ts'
import { llamaCpp } from '#gateway/providers/local/llama-cpp.ts'
import { ollama } from '#gateway/providers/local/ollama.ts'
import { type Id, idOf } from '#core/ids.ts'
import { NOTHING, modalitiesOf, type Row } from '../catalogues/rows.ts'
import type { Source } from '../endpoints/sources.ts'
import { shorten } from '#core/text/shorten.ts'

export interface LocalModel {
  name: string
  engine: 'llama' | 'sherpa' | 'ollama'
  /** Equal digests mean the same model. Null: unknown. */
  digest: string | null
  contextLength: number | null
  quantization: string | null
  embeds: boolean
  mapping: string | null
  /** ISO 8601. */
  createdAt: string
}

export interface Machine {
  id: Id
  name: string
  /** False if the computer was only shared with the workspace. */
  owned: boolean
  /** The workspace whose admins answer for the computer. Null: only the person who shared it does. */
  lender: Id | null
  online: boolean
  models: readonly LocalModel[]
  dispatch: Dispatch
}

export interface Machines {
  /** Empty if the ID isn't a workspace's. */
  servingIn(workspaceId: Id): Promise<readonly Machine[]>
}

export interface LocalOffer {
  machine: Machine
  model: LocalModel
  source: Source
}

const PREFIX = 'local/'
const ENGINES = {
  llama: { shape: llamaCpp.shape, preset: llamaCpp.id, baseUrl: 'http://local.invalid/v1' },
  // Sherpa has no HTTP API. The platform's own shape is used (`gateway/media/own/computer-speech.ts`).
  sherpa: { shape: llamaCpp.shape, preset: null, baseUrl: 'http://local.invalid/v1' },
  ollama: { shape: ollama.shape, preset: ollama.id, baseUrl: 'http://local.invalid' },
}

export const localOffersOf = (workspaceId: Id, machines: readonly Machine[]): LocalOffer[] =>
  machines.flatMap((machine) => {
    const sources = {
      llama: sourceOf(workspaceId, machine, 'llama'),
      sherpa: sourceOf(workspaceId, machine, 'sherpa'),
      ollama: sourceOf(workspaceId, machine, 'ollama'),
    }
    return machine.models.map((model) => ({ machine, model, source: sources[model.engine] }))
  })

function sourceOf(workspaceId: Id, machine: Machine, engine: LocalModel['engine']): Source {
  const createdAt = machine.models[0]!.createdAt
  const endpoint: ProviderEndpoint = {
    id: idOf('computer', workspaceId, machine.id, engine),
    slug: 'local',
    name: shorten(machine.name, 120),
    ...ENGINES[engine],
    apiKey: null,
    headers: {},
    billing: 'free',
    priority: 0,
    weight: 1,
    mayBePrivate: false,
    dispatch: machine.dispatch,
    workspaceId,
    ...(!machine.online && { away: true as const }),
    // Owners of shared computers decide about their data policy themselves.
    ...(machine.owned && { dataPolicy: { keeps: false, trains: false } }),
  }
  const times = { createdAt, updatedAt: createdAt }
  return { from: 'computer', computerId: machine.id, ownerId: workspaceId, workspaceId, endpoint, models: [], ...times }
}

/** A computer reachable in two ways counts once. */
export function byName(offers: readonly LocalOffer[]): Map<string, LocalOffer[]> {
  const offersByName = new Map<string, LocalOffer[]>()
  for (const offer of offers) {
    const same = offersByName.get(offer.model.name)
    if (same === undefined) offersByName.set(offer.model.name, [offer])
    else if (!same.some(({ machine }) => machine.id === offer.machine.id)) same.push(offer)
  }
  return offersByName
}

/** `own`: only the caller's computers. `all`: every reachable one. */
export type Among = 'own' | 'all'

/**
 * Whether any of these computers may serve the model. Equal digests are only a claim, so the computers must all be the
 * caller's own or share one lender: otherwise a lender could attract prompts meant for another computer.
 */
const isOne = (offers: readonly LocalOffer[], among: Among): boolean =>
  offers.length === 1 ||
  (offers[0]!.model.digest !== null &&
    offers.every(({ model: { digest } }) => digest === offers[0]!.model.digest) &&
    areOnes(offers, among))

const areOnes = (offers: readonly LocalOffer[], among: Among): boolean =>
  offers.length < 2 ||
  among === 'own' ||
  (offers[0]!.machine.lender !== null && offers.every(({ machine }) => machine.lender === offers[0]!.machine.lender))

/** Resolves `local/<name>` and `local/<computer>/<name>`, by the computer's name or ID. */
export function resolveLocal(
  offersByName: ReadonlyMap<string, readonly LocalOffer[]>,
  slug: string,
  among: Among,
): Row[] {
  if (!slug.startsWith(PREFIX)) return []
  const rest = slug.slice(PREFIX.length)
  const plain = offersByName.get(rest)
  if (plain !== undefined) return isOne(plain, among) ? plain.map((offer) => rowOf(offer, slug)) : []
  const slash = rest.indexOf('/')
  const where = rest.slice(0, slash).toLowerCase()
  const there = (offersByName.get(rest.slice(slash + 1)) ?? []).filter(
    ({ machine }) => machine.id.toLowerCase() === where || wordOf(machine.name) === where,
  )
  return there.length > 0 && isOne(there, among) ? there.map((offer) => rowOf(offer, slug)) : []
}

/** The full names to choose from if the name is ambiguous, otherwise empty. */
export function namesLike(offersByName: ReadonlyMap<string, readonly LocalOffer[]>, slug: string): string[] {
  const plain = [slug, `${PREFIX}${slug}`].find((one) => one.startsWith(PREFIX))!.slice(PREFIX.length)
  const offers = offersByName.get(plain) ?? []
  if (offers.length > 0 && !isOne(offers, 'all')) return offers.map((offer) => longName(offer, offers))
  const mappedOffers = [...offersByName.values()].flat().filter(({ model }) => model.mapping === slug)
  return areOnes(mappedOffers, 'all') ? [] : mappedOffers.map((offer) => longName(offer, mappedOffers))
}

/**
 * Local models mapped to a platform model. None if they have several lenders: a mapping must not attract prompts meant
 * for another lender's computer.
 */
export function mappedTo(offers: readonly LocalOffer[], slug: string, among: Among): Row[] {
  const mappedOffers = [...byName(offers.filter(({ model }) => model.mapping === slug)).values()].flat()
  return areOnes(mappedOffers, among) ? mappedOffers.map((offer) => rowOf(offer, slug)) : []
}

/** Once per name. The caller's own computers take precedence over shared ones. */
export function localRows(offers: readonly LocalOffer[], own: ReadonlySet<LocalOffer>): Row[] {
  const rows = [...byName(offers)].flatMap(([name, same]) => {
    const theirs = same.filter((offer) => own.has(offer))
    const [candidates, among] = theirs.length > 0 ? ([theirs, 'own'] as const) : ([same, 'all'] as const)
    if (!isOne(candidates, among)) return same.map((offer) => rowOf(offer, longName(offer, same)))
    const apart = same.filter((offer) => !candidates.includes(offer))
    return [rowOf(candidates[0]!, PREFIX + name), ...apart.map((offer) => rowOf(offer, longName(offer, same)))]
  })
  return [
    ...rows,
    ...offers.flatMap((offer) => (offer.model.mapping === null ? [] : rowOf(offer, offer.model.mapping))),
  ]
}

function longName({ machine, model }: LocalOffer, among: readonly LocalOffer[]): string {
  const word = wordOf(machine.name)
  const twice = among.filter((offer) => wordOf(offer.machine.name) === word).length > 1
  return `${PREFIX}${word === '' || twice ? machine.id : word}/${model.name}`
}

/** The computer's name inside a model slug: `Alice’s Laptop` becomes `alice-s-laptop`. */
const wordOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}._]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '')

const kindOf = ({ engine, embeds }: LocalModel) =>
  engine === 'sherpa' ? 'transcription' : embeds ? 'embedding' : 'text'

const rowOf = ({ model, source }: LocalOffer, slug: string): Row => ({
  id: idOf(source.ownerId, source.endpoint.id, slug),
  slug,
  kind: kindOf(model),
  name: model.name,
  upstreamModel: model.name,
  contextLength: model.contextLength,
  maxOutputTokens: null,
  capabilities: model.embeds ? ['embedding'] : [],
  modalities: modalitiesOf([], kindOf(model)),
  ...(model.quantization !== null && { quantization: model.quantization.toLowerCase() }),
  pricing: { input: '0', output: '0' },
  ...(model.engine === 'sherpa' && {
    media: { kind: 'transcription' as const, pricing: NOTHING, abilities: unknownAbilities('transcription') },
  }),
  priceSource: 'local',
  priceDate: model.createdAt.slice(0, 10),
  releasedAt: null,
  createdAt: model.createdAt,
  capabilityIndex: null,
  capabilityIndexSource: null,
  endpoint: source.endpoint,
  source,
})
