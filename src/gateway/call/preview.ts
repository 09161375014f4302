import { refuse } from '#core/errors.ts'
import { type Nano, toUsd } from '#core/money.ts'
import type { Payer } from '#infra/ledger/ledger.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, actingIn } from '#core/principal.ts'
import { callerOf } from '../request/caller.ts'
import { routeRequested, tell } from '../routing/choose.ts'
import { worstCost } from '../model/cost/cost.ts'
import { type Offer, type Shape, isMediaOffer, pricedForMedia } from '../model/offer.ts'
import { amountsOf, mostOutput } from './money/metering.ts'
import { payerFor } from './money/trial.ts'
import type { Gateway } from '../request/gateway.ts'
import { readPreferences } from '../routing/preferences.ts'
import { type RequestedModel, type Candidate, type Route, newSeed } from '../routing/router.ts'
import type { Exclusion } from '../routing/filter.ts'
import { noSuchModel, visibleModels } from '../routing/model-names/unknown-model.ts'
import { canServeIn } from '../translation/translate.ts'
import { requestedModels } from '../routing/model-names/variants.ts'
import { liveConstraints } from './live-constraints.ts'

export interface PreviewRequest {
  /** Tried in order; suffixes as in compat-c. */
  models: readonly string[]
  shape: Shape
  provider: unknown
  parameters: readonly string[]
  maxTokens: number | null
  inputTokens: number | null
  tools: boolean
  images: boolean
  seed: number | null
  /** The workspace of the call; null: that of the caller's credential. */
  workspaceId: Id | null
}

export interface Preview {
  seed: number
  first: Offer
  candidates: (Candidate & { maxCostUsd: number | null })[]
  excluded: { provider: string; reason: string }[]
}

export type PreviewRoute = (principal: Principal, request: PreviewRequest) => Promise<Preview>

export const createPreviewRoute =
  (gateway: Gateway): PreviewRoute =>
  async (caller, request) => {
    const { models, shape, provider, parameters, maxTokens, inputTokens, tools, images, seed: givenSeed } = request
    const seed = givenSeed ?? newSeed()
    const { workspaceId } = request
    const payer = workspaceId === null ? callerOf(caller).payer : payerOf(caller, workspaceId)
    const principal = workspaceId === null ? caller : actingIn(caller, workspaceId)
    const requested = (await requestedModels(gateway.directory, principal, models)).map(asMedia)
    const isServed = ({ offers }: RequestedModel): boolean => offers.length > 0
    const suggestions = requested.every(isServed) ? [] : await visibleModels(gateway.directory, caller, principal)
    const { constraints: preferences, together } = readPreferences(provider, () => [...parameters])
    const constraints = {
      ...liveConstraints(gateway, payer, {
        summary: { tools, images, inputTokens, maxTokens },
        seed,
        conversation: null,
        serves: (offer) => isMediaOffer(offer) || canServeIn(shape, offer),
      }),
      ...preferences,
    }
    const route = routeRequested(requested, constraints, gateway.health, together, (name) =>
      refuse('not_found', {
        message: noSuchModel(name.model, suggestions, true),
        param: name === requested[0] ? 'model' : 'models',
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
      first: requested.find(isServed)!.offers[0]!,
      candidates,
      excluded: tell([...unpaid, ...route.excluded], constraints).map(({ provider: slug, reason }) => ({
        provider: slug,
        reason,
      })),
    }
  }

const spareKey = ({ endpoint }: Offer, { tier }: Payer): string => `${endpoint.billing} ${tier}`

const asMedia = (model: RequestedModel): RequestedModel => ({
  ...model,
  offers: model.offers.map((offer) => (isMediaOffer(offer) ? pricedForMedia(offer) : offer)),
})

/** `spare`: what balance and caps leave; null: no limit. */
function whyUnpaid(
  offer: Offer,
  spare: Nano | null,
  inputTokens: number | null,
  maxTokens: number | null,
): Extract<Exclusion, 'unpriced' | 'unaffordable'> | null {
  if (spare === null) return null
  if (offer.pricing === null) return 'unpriced'
  if (isMediaOffer(offer)) return null
  const { least } = amountsOf(offer, offer.pricing, { inputTokens: inputTokens ?? 0, maxTokens, n: 1 })
  return least > spare ? 'unaffordable' : null
}

/** Null: no price, or no bound for the input. */
function mostCost(offer: Offer, inputTokens: number | null, maxTokens: number | null): Nano | null {
  const { endpoint, pricing, contextLength } = offer
  if (endpoint.billing === 'free') return 0n
  const input = inputTokens ?? contextLength
  if (pricing === null || input === null || isMediaOffer(offer)) return null
  return worstCost(pricing, Math.min(input, contextLength ?? input), mostOutput(offer, maxTokens), 1)
}
