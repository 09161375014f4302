import { refuse } from '#core/errors.ts'
import { type Nano, toUsd } from '#core/money.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, actingIn } from '#core/principal.ts'
import { callerOf } from '../request/caller.ts'
import { routed, tell } from '../routing/choose.ts'
import { worstCost } from '../model/cost/cost.ts'
import { type Offer, type Shape, isMediaOffer, pricedForMedia } from '../model/offer.ts'
import { amountsOf, mostOutput } from './money/metering.ts'
import { payerFor } from './money/trial.ts'
import type { Gateway } from '../request/gateway.ts'
import { readPreferences } from '../routing/preferences.ts'
import { type RequestedModel, type Candidate, type Route, newSeed } from '../routing/router.ts'
import type { Excluded } from '../routing/filter.ts'
import { noSuchModel, visibleModels } from '../routing/model-names/unknown-model.ts'
import { canServeIn } from '../translation/translate.ts'
import { requestedModels } from '../routing/model-names/variants.ts'
import { liveConstraints } from './live-constraints.ts'

/** A call as far as its route hangs on it. */
export interface PreviewRequest {
  /** Tried one after the other; suffixes as compat-c reads them. */
  models: readonly string[]
  /** The wire shape that the caller would speak. */
  shape: Shape
  /** Preferences as in compat-c's `provider`. */
  provider: unknown
  /** Names of the request's parameters, for `require_parameters`. */
  parameters: readonly string[]
  maxTokens: number | null
  inputTokens: number | null
  tools: boolean
  images: boolean
  seed: number | null
  /** The workspace that the call would be made in; null: the one of the caller's credential. */
  workspaceId: Id | null
}

export interface Preview {
  seed: number
  /** The offers of the first model that is served, for what the preview belongs to. */
  first: Offer
  candidates: (Candidate & { maxCostUsd: number | null })[]
  excluded: { provider: string; reason: string }[]
}

export type PreviewRoute = (principal: Principal, request: PreviewRequest) => Promise<Preview>

export const createPreviewRoute =
  (gateway: Gateway): PreviewRoute =>
  async (caller, request) => {
    const { models, shape, provider, parameters, maxTokens, inputTokens, tools, images, seed: given } = request
    const seed = given ?? newSeed()
    const { workspaceId } = request
    const payer = workspaceId === null ? callerOf(caller).payer : payerOf(caller, workspaceId)
    const principal = workspaceId === null ? caller : actingIn(caller, workspaceId)
    const asked = (await requestedModels(gateway.directory, principal, models)).map(asMedia)
    const isServed = ({ offers }: RequestedModel): boolean => offers.length > 0
    const told = asked.every(isServed) ? [] : await visibleModels(gateway.directory, caller, principal)
    const { constraints: preferred, together } = readPreferences(provider, () => [...parameters])
    const constraints = {
      ...liveConstraints(gateway, payer, {
        summary: { tools, images, inputTokens, maxTokens },
        seed,
        conversation: null,
        serves: (offer) => isMediaOffer(offer) || canServeIn(shape, offer),
      }),
      ...preferred,
    }
    const route = routed(asked, constraints, gateway.health, together, (unserved) =>
      refuse('not_found', {
        message: noSuchModel(unserved.model, told, true),
        param: unserved === asked[0] ? 'model' : 'models',
      }),
    )
    const spare = new Map<string, Nano | null>()
    for (const { offer } of route.candidates) {
      const pays = payerFor(payer, offer)
      const key = spareKey(offer, pays)
      if (!spare.has(key)) spare.set(key, await gateway.engine.ledger.affordable(pays, offer.endpoint.billing))
    }
    const candidates: Preview['candidates'] = []
    const unpaid: Route['excluded'] = []
    for (const candidate of route.candidates) {
      const { offer } = candidate
      const reason = whyUnpaid(
        offer,
        spare.get(spareKey(offer, payerFor(payer, offer))) ?? null,
        inputTokens,
        maxTokens,
      )
      const most = mostCost(offer, inputTokens, maxTokens)
      if (reason === null) candidates.push({ ...candidate, maxCostUsd: most === null ? null : toUsd(most) })
      else unpaid.push({ offer, reason })
    }
    return {
      seed,
      first: asked.find(isServed)!.offers[0]!,
      candidates,
      excluded: tell([...unpaid, ...route.excluded], constraints).map(({ provider: slug, reason }) => ({
        provider: slug,
        reason,
      })),
    }
  }

const spareKey = ({ endpoint }: Offer, { tier }: Payer): string => `${endpoint.billing} ${tier}`

/** A model of media at its price for them. */
const asMedia = (asked: RequestedModel): RequestedModel => ({
  ...asked,
  offers: asked.offers.map((offer) => (isMediaOffer(offer) ? pricedForMedia(offer) : offer)),
})

/**
 * The reason why a call skips this offer for want of money, as a live call does when its cost cannot be held; `spare`:
 * what balance and caps leave, null where nothing guards.
 */
function whyUnpaid(
  offer: Offer,
  spare: Nano | null,
  inputTokens: number | null,
  maxTokens: number | null,
): Extract<Excluded, 'unpriced' | 'unaffordable'> | null {
  if (spare === null) return null
  if (offer.pricing === null) return 'unpriced'
  // What it costs hangs on what is asked for.
  if (isMediaOffer(offer)) return null
  const { least } = amountsOf(offer, offer.pricing, { inputTokens: inputTokens ?? 0, maxTokens, n: 1 })
  return least > spare ? 'unaffordable' : null
}

/** Null: without a price, or without a bound of the input. */
function mostCost(offer: Offer, inputTokens: number | null, maxTokens: number | null): Nano | null {
  const { endpoint, pricing, contextLength } = offer
  if (endpoint.billing === 'free') return 0n
  const input = inputTokens ?? contextLength
  if (pricing === null || input === null || isMediaOffer(offer)) return null
  return worstCost(pricing, Math.min(input, contextLength ?? input), mostOutput(offer, maxTokens), 1)
}
