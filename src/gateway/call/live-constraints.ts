import type { Payer } from '#engine/ledger/ledger.ts'
import type { Offer } from '../model/offer.ts'
import { type RoutingConstraints, type Sketch, constraintsFor } from '../routing/constraints.ts'
import type { Gateway } from '../request/gateway.ts'

/** The constraints of a call before any preference: what it needs, who can be asked, who pays, and who holds its prompt. */
export function liveConstraints(
  { engine, cacheAffinity }: Pick<Gateway, 'engine' | 'cacheAffinity'>,
  payer: Payer,
  {
    sketch,
    seed,
    conversation,
    serves,
  }: { sketch: Sketch; seed: number; conversation: string | null; serves: (offer: Offer) => boolean },
): RoutingConstraints {
  const cacheHolder = conversation === null ? null : cacheAffinity.of(conversation)
  return {
    ...(cacheHolder !== null && { cacheHolder }),
    ...constraintsFor(sketch, seed, serves, (billing) => engine.ledger.guards(payer, billing)),
  }
}
