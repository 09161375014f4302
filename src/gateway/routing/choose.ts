import { refuse } from '#kernel/errors.ts'
import { type Asked, type Candidate, type Route, routeModels } from './router.ts'
import { type Excluded, relays } from './filter.ts'
import type { RoutingConstraints } from './constraints.ts'
import { excludedWords } from './explain.ts'
import type { Lately } from './health.ts'

/**
 * Who is asked for these models, in order; never nobody. Refuses with `not_found` what nobody serves, with
 * `unsupported_model` what is served only in shapes that cannot be spoken, else with `no_route` and the reason of each.
 */
export function choose(
  asked: readonly Asked[],
  constraints: RoutingConstraints,
  lately: Lately,
  together: boolean,
  say: { unserved(model: string): string; shapes(shapes: string): string },
): readonly Candidate[] {
  const served = asked.filter(({ offers }) => offers.length > 0)
  const route = routeModels(served, constraints, lately, together)
  const unserved = asked.find(({ offers, unknown }) => offers.length === 0 && unknown === undefined)
  // Whoever relays may know a name that nobody here does.
  if (unserved !== undefined && !route.candidates.some(({ offer }) => relays(offer)))
    refuse('not_found', { message: say.unserved(unserved.model), param: 'model' })
  if (route.candidates.length > 0) return route.candidates
  const unknown = asked.find((one) => one.unknown !== undefined)?.unknown
  if (served.length === 0 && unknown !== undefined) throw unknown
  return nobody(asked, route.excluded, constraints, say.shapes)
}

function nobody(
  asked: readonly Asked[],
  excluded: Route['excluded'],
  constraints: RoutingConstraints,
  sayShapes: (shapes: string) => string,
): never {
  const [{ model } = { model: '' }] = asked
  if (excluded.every(({ reason }) => reason === 'shape')) {
    const shapes = [...new Set(excluded.map(({ offer }) => offer.endpoint.shape))].join(', ')
    refuse('unsupported_model', {
      message: sayShapes(shapes),
      param: 'model',
    })
  }
  const reasons = tell(excluded, constraints)
  return refuse('no_route', {
    message: `No provider of \`${model}\` can serve this request. ${reasons
      .slice(0, MOST_TOLD)
      .map(({ provider, reason }) => `${provider}: ${reason}`)
      .join(' ')}`,
    details: { models: asked.map((one) => one.model), excluded: reasons },
  })
}

const MOST_TOLD = 5

/** Each provider that is left out, with its reason in words. */
export const tell = (
  excluded: Route['excluded'],
  constraints: RoutingConstraints,
): { provider: string; reason: string; code: Excluded }[] =>
  excluded.map(({ offer, reason }) => ({
    provider: offer.endpoint.slug,
    reason: excludedWords(reason, offer, constraints),
    code: reason,
  }))
