import type { Outbound } from '#infra/http-client/outbound.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { usageOf } from '#core/usage.ts'
import type { Offer, Shape } from '../model/offer.ts'
import { fetchMedia, needsFetching, withKinds, withStandIns } from './fetched-media.ts'
import { addressReferenceIn, storedReferenceIn } from '../stored-references/find.ts'
import { refuseReference } from '../stored-references/refuse.ts'
import { refuseLost } from './loss-fates.ts'
import { withSoundArguments } from './sound-arguments.ts'
import { withUniqueCalls } from './unique-calls.ts'
import { type Prepared, prepare, translatableShapes } from './upstream-stream.ts'
import type { Candidate } from '../routing/router.ts'
import { simLosses } from '../sim/losses.ts'
import { isSimulated } from '../sim/offers.ts'
import { simulate } from '../sim/simulate.ts'
import { countInput } from '../sim/words.ts'
import { supportsShape, usesConverse } from '../providers/supports.ts'
import type { Chunk, Loss, CanonicalRequest } from '../model/canonical-request.ts'

/** The part of a client's shape that a translation needs to know. */
export interface ClientShape {
  /** Upstream shapes whose bytes are this surface's own. */
  shapes: readonly Shape[]
  /** Whether other shapes serve it too, by translation. */
  translates: boolean
  decode(
    json: Record<string, unknown>,
    headers: Readonly<Record<string, unknown>>,
  ): { canonical: CanonicalRequest; includeUsage: boolean; losses: readonly Loss[] }
}

/** Whether the client's bytes travel on as they are. */
export const passesThrough = (surface: Pick<ClientShape, 'shapes'>, offer: Offer): boolean =>
  surface.shapes.some((shape) => supportsShape(offer.endpoint, shape)) && !isSimulated(offer) && !usesConverse(offer)

/** Whether a CanonicalRequest can be put to the offer. */
export const isTranslatable = (offer: Offer): boolean =>
  translatableShapes.includes(offer.endpoint.shape) || isSimulated(offer)

/** Whether a client of this surface can be served by the offer at all. */
export const canServe = (surface: Pick<ClientShape, 'shapes' | 'translates'>, offer: Offer): boolean =>
  passesThrough(surface, offer) || (surface.translates && isTranslatable(offer))

/** The same for a client of whom only the shape is known. */
export const canServeIn = (shape: Shape, offer: Offer): boolean =>
  supportsShape(offer.endpoint, shape) || isTranslatable(offer)

/** The outbound connections to providers, and to whatever else a request names. */
export interface Connections {
  outbound: Outbound
  outside: Outbound
  /** For whom they are gone. */
  party: Id
}

/** A request as it is put to an offer in the offer's own shape. */
export interface TranslatedRequest {
  /** Fields that cannot be carried there, by the names of the client's fields. */
  losses: readonly Loss[]
  /** The body that is sent, to be weighed before it is: of a simulated model what was asked. */
  body: Record<string, unknown>
  /** `limit`: the output tokens that money was put aside for; null: as asked. Its last chunk is a `finish` or an `error`. */
  send(limit: number | null, net: Connections, signal: AbortSignal): AsyncIterable<Chunk>
}

/** A client's request, read once, and put to offers of other shapes. */
export class Translation {
  readonly canonical: CanonicalRequest
  /** The client wants the usage inside the stream. */
  readonly includeUsage: boolean
  readonly #losses: readonly Loss[]
  readonly #json: Record<string, unknown>
  readonly #requests = new Map<Offer, TranslatedRequest>()

  /** Refuses what the surface's vendor would refuse. */
  constructor(
    surface: Pick<ClientShape, 'decode'>,
    json: Record<string, unknown>,
    headers: Readonly<Record<string, unknown>>,
  ) {
    const { canonical, includeUsage, losses } = surface.decode(json, headers)
    this.canonical = canonical
    this.includeUsage = includeUsage
    this.#losses = losses
    this.#json = json
    const reference = storedReferenceIn(json)
    if (reference !== null) refuseReference(reference)
    refuseLost(losses)
  }

  /** Refuses what the offer's shape cannot be asked at all. */
  to(offer: Offer): TranslatedRequest {
    const known = this.#requests.get(offer)
    if (known) return known
    const address = offer.endpoint.billing === 'byok' ? null : addressReferenceIn(this.#json)
    if (address !== null) refuseReference(address)
    const { losses, ...rest } = translateFor(this.canonical, offer)
    const translated = { losses: union(this.#losses, losses), ...rest, ...(isSimulated(offer) && { body: this.#json }) }
    this.#requests.set(offer, translated)
    return translated
  }
}

/** A request in the shape of an offer. Refuses what that shape has no place for, and what would be another request there. */
export function translateFor(canonical: CanonicalRequest, offer: Offer): TranslatedRequest {
  const { send, ...translated } = translateWhole(withKinds(canonical), offer)
  refuseLost(translated.losses)
  return { ...translated, send: (...asked) => withUniqueCalls(withSoundArguments(send(...asked)), canonical.messages) }
}

function translateWhole(canonical: CanonicalRequest, offer: Offer): TranslatedRequest {
  if (isSimulated(offer)) {
    const named = { ...canonical, model: offer.upstreamModel }
    return {
      losses: simLosses(named),
      body: canonical,
      send: (limit, { party }, signal) => simulate(limited(named, limit), signal, party),
    }
  }
  const fetches = needsFetching(canonical, offer)
  const prepared = prepare(offer, fetches ? withStandIns(canonical, offer) : canonical)
  return {
    losses: prepared.losses,
    // Fetched media weigh as what they are, not as what stands in for them.
    body: fetches ? canonical : prepared.body,
    send: (limit, net, signal) => {
      // Anthropic's clients warm a cache so; others would be asked for nothing and take that amiss.
      if (canonical.max_output_tokens === 0 && offer.endpoint.shape !== 'anthropic-messages') return nothing(canonical)
      if (fetches) return fetched(offer, limited(canonical, limit), net, signal)
      return (limit === null ? prepared : prepare(offer, limited(canonical, limit))).chunks(
        net.outbound,
        net.party,
        signal,
      )
    },
  }
}

const limited = (canonical: CanonicalRequest, limit: number | null): CanonicalRequest =>
  limit === null ? canonical : { ...canonical, max_output_tokens: limit }

const union = (some: readonly Loss[], others: readonly Loss[]): Loss[] => [...new Set([...some, ...others])]

/** The answer to a request whose images and files are fetched first. */
async function* fetched(
  offer: Offer,
  canonical: CanonicalRequest,
  { outbound, outside, party }: Connections,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  const whole = await fetchMedia(canonical, offer, outside, party, signal)
  if ('kind' in whole) return yield { type: 'error', error: whole }
  let prepared: Prepared
  try {
    prepared = prepare(offer, whole)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Of a type that the provider does not take, as only the bytes have shown.
    return yield { type: 'error', error: { kind: 'bad_request', message: error.message, param: 'messages' } }
  }
  yield* prepared.chunks(outbound, party, signal)
}

/** An answer without a word, for who asked for none. */
async function* nothing({ model }: CanonicalRequest): AsyncGenerator<Chunk, void, undefined> {
  yield { type: 'start', id: '', model }
  yield { type: 'usage', usage: usageOf({}) }
  yield { type: 'finish', reason: 'stop', native: null }
}

/** The offers that lose nothing, for a client that takes no other. Refuses with the fields, before anything is spent. */
export function onlyLossless(
  candidates: readonly Candidate[],
  lossesOf: (offer: Offer) => readonly Loss[],
): Candidate[] {
  const lost = new Set<Loss>()
  let refused: Refusal | null = null
  const kept = candidates.filter(({ offer }) => {
    try {
      const losses = lossesOf(offer)
      for (const name of losses) lost.add(name)
      return losses.length === 0
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refused ??= error
      return false
    }
  })
  if (kept.length > 0 || candidates.length === 0) return kept
  if (lost.size === 0 && refused !== null) throw refused
  const names = [...lost]
  return refuse('invalid_parameter', {
    message: `No provider of this model supports ${names.map((name) => `\`${name}\``).join(', ')}, and \`x-uk-strict: 1\` requires it.`,
    param: names[0]!,
    details: { losses: names },
  })
}

/** Tokens of a request for a model that nobody counts for: words where they are the tokens, else a fair guess. */
export const countFor = (offer: Offer, { canonical }: Translation, guess: () => number): number =>
  isSimulated(offer) ? countInput(canonical.messages) : guess()
