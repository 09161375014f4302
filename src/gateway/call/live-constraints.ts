import type { Payer } from '#infra/ledger/ledger.ts'
import type { Offer } from '../model/offer.ts'
import { type RoutingConstraints, type RequestSummary, constraintsFor } from '../routing/constraints.ts'
import type { Gateway } from '../request/gateway.ts'

export function liveConstraints(
  { engine, cacheAffinity }: Pick<Gateway, 'engine' | 'cacheAffinity'>,
  payer: Payer,
  {
    summary,
    seed,
    conversation,
    serves,
  }: { summary: RequestSummary; seed: number; conversation: string | null; serves: (offer: Offer) => boolean },
): RoutingConstraints {
  const cacheHolder = conversation === null ? null : cacheAffinity.of(conversation)
  return {
    ...(cacheHolder !== null && { cacheHolder }),
    ...(payer.rules && { rules: payer.rules }),
    ...constraintsFor(summary, seed, serves, (billing) => engine.ledger.isGuarded(payer, billing)),
  }
}
