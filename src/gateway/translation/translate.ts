import type { Outbound } from '#packages/http-client/outbound.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { usageOf } from '#core/usage.ts'
import type { Offer, Shape } from '../model/offer.ts'
import { fetchMedia, needsFetching, withKinds, withStandIns } from './fetched-media.ts'
import { addressReferenceIn, storedReferenceIn } from '../stored-references/find.ts'
import { refuseReference } from '../stored-references/refuse.ts'
import { refuseLost } from './loss-fates.ts'
import { type ChunkStep, inSteps } from './chunk-step.ts'
import { ValidArguments } from './valid-arguments.ts'
import { UniqueCallIds } from './unique-call-ids.ts'
import { translatableShapes } from './translators.ts'
import { type PreparedRequest, prepare } from './upstream-stream.ts'
import type { Candidate } from '../routing/router.ts'
import { simLosses } from '../sim/losses.ts'
import { isSimulated } from '../sim/offers.ts'
import { simulate } from '../sim/simulate.ts'
import { countInput } from '../sim/words.ts'
import { supportsShape, usesConverse } from '../providers/supports.ts'
import type { Chunk, Loss, CanonicalRequest } from '../model/canonical-request.ts'

export interface ClientShape {
  shapes: readonly Shape[]
  translates: boolean
  decode(
    json: Record<string, unknown>,
    headers: Readonly<Record<string, unknown>>,
  ): { canonical: CanonicalRequest; includeUsage: boolean; losses: readonly Loss[] }
}

export const passesThrough = (surface: Pick<ClientShape, 'shapes'>, offer: Offer): boolean =>
  surface.shapes.some((shape) => supportsShape(offer.endpoint, shape)) && !isSimulated(offer) && !usesConverse(offer)

export const isTranslatable = (offer: Offer): boolean =>
  translatableShapes.includes(offer.endpoint.shape) || isSimulated(offer)

export const canServe = (surface: Pick<ClientShape, 'shapes' | 'translates'>, offer: Offer): boolean =>
  passesThrough(surface, offer) || (surface.translates && isTranslatable(offer))

export const canServeIn = (shape: Shape, offer: Offer): boolean =>
  supportsShape(offer.endpoint, shape) || isTranslatable(offer)

export interface Connections {
  outbound: Outbound
  outside: Outbound
  party: Id
}

export interface TranslatedRequest {
  losses: readonly Loss[]
  /** For weighing it before it is sent; for simulated models, the client's request. */
  body: Record<string, unknown>
  /**
   * `limit`: the output tokens covered by the reservation; null: unchanged. The last chunk is a `finish` or an `error`.
   */
  send(limit: number | null, net: Connections, signal: AbortSignal): AsyncIterable<Chunk>
}

export class Translation {
  readonly canonical: CanonicalRequest
  readonly includeUsage: boolean
  readonly #losses: readonly Loss[]
  readonly #json: Record<string, unknown>
  readonly #requests = new Map<Offer, TranslatedRequest>()

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

  to(offer: Offer): TranslatedRequest {
    const existing = this.#requests.get(offer)
    if (existing) return existing
    const address = offer.endpoint.billing === 'byok' ? null : addressReferenceIn(this.#json)
    if (address !== null) refuseReference(address)
    const { losses, ...rest } = translateFor(this.canonical, offer)
    const translation = {
      losses: union(this.#losses, losses),
      ...rest,
      ...(isSimulated(offer) && { body: this.#json }),
    }
    this.#requests.set(offer, translation)
    return translation
  }
}

/** Refuses what the shape can't express, and what would mean something else there. */
export function translateFor(canonical: CanonicalRequest, offer: Offer): TranslatedRequest {
  const { send, ...translation } = translateWhole(withKinds(canonical), offer)
  refuseLost(translation.losses)
  return {
    ...translation,
    send: (...args) => send(...args, [new ValidArguments(), new UniqueCallIds(canonical.messages)]),
  }
}

type StepwiseRequest = Omit<TranslatedRequest, 'send'> & {
  send(limit: number | null, net: Connections, signal: AbortSignal, steps: readonly ChunkStep[]): AsyncIterable<Chunk>
}

function translateWhole(canonical: CanonicalRequest, offer: Offer): StepwiseRequest {
  if (isSimulated(offer)) {
    const request = { ...canonical, model: offer.upstreamModel }
    return {
      losses: simLosses(request),
      body: canonical,
      send: (limit, { party }, signal, steps) => inSteps(simulate(withLimit(request, limit), signal, party), steps),
    }
  }
  const fetches = needsFetching(canonical, offer)
  const preparedRequest = prepare(offer, fetches ? withStandIns(canonical, offer) : canonical)
  return {
    losses: preparedRequest.losses,
    // Fetched media count with their own weight, not their placeholder's.
    body: fetches ? canonical : preparedRequest.body,
    send: (limit, net, signal, steps) => {
      // Anthropic's clients warm a cache this way; other providers reject a limit of 0.
      if (canonical.max_output_tokens === 0 && offer.endpoint.shape !== 'anthropic-messages') return nothing(canonical)
      if (fetches) return fetchAndSend(offer, withLimit(canonical, limit), net, signal, steps)
      const { chunks } = limit === null ? preparedRequest : prepare(offer, withLimit(canonical, limit))
      return chunks(net.outbound, net.party, signal, steps)
    },
  }
}

const withLimit = (canonical: CanonicalRequest, limit: number | null): CanonicalRequest =>
  limit === null ? canonical : { ...canonical, max_output_tokens: limit }

const union = (some: readonly Loss[], others: readonly Loss[]): Loss[] => [...new Set([...some, ...others])]

async function* fetchAndSend(
  offer: Offer,
  canonical: CanonicalRequest,
  { outbound, outside, party }: Connections,
  signal: AbortSignal,
  steps: readonly ChunkStep[],
): AsyncGenerator<Chunk, void, undefined> {
  const whole = await fetchMedia(canonical, offer, outside, party, signal)
  if ('kind' in whole) return yield { type: 'error', error: whole }
  let preparedRequest: PreparedRequest
  try {
    preparedRequest = prepare(offer, whole)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // The provider doesn't accept the type, as only the bytes have shown.
    return yield { type: 'error', error: { kind: 'bad_request', message: error.message, param: 'messages' } }
  }
  yield* preparedRequest.chunks(outbound, party, signal, steps)
}

async function* nothing({ model }: CanonicalRequest): AsyncGenerator<Chunk, void, undefined> {
  yield { type: 'start', id: '', model }
  yield { type: 'usage', usage: usageOf({}) }
  yield { type: 'finish', reason: 'stop', native: null }
}

/** For a client that accepts no losses. Refuses with the lost fields before anything is spent. */
export function onlyLossless(
  candidates: readonly Candidate[],
  lossesOf: (offer: Offer) => readonly Loss[],
): Candidate[] {
  const lostFields = new Set<Loss>()
  let refusal: Refusal | null = null
  const lossless = candidates.filter(({ offer }) => {
    try {
      const losses = lossesOf(offer)
      for (const name of losses) lostFields.add(name)
      return losses.length === 0
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refusal ??= error
      return false
    }
  })
  if (lossless.length > 0 || candidates.length === 0) return lossless
  if (lostFields.size === 0 && refusal !== null) throw refusal
  const names = [...lostFields]
  return refuse('invalid_parameter', {
    message: `No provider of this model supports ${names.map((name) => `\`${name}\``).join(', ')}, and \`x-uk-strict: 1\` requires it.`,
    param: names[0]!,
    details: { losses: names },
  })
}

export const countFor = (offer: Offer, { canonical }: Translation, guess: () => number): number =>
  isSimulated(offer) ? countInput(canonical.messages) : guess()
