import { refuse } from '#core/errors.ts'
import { type RequestedModel, type Candidate, type Route, routeModels } from './router.ts'
import { type Excluded, brokenRule } from './filter.ts'
import { isAggregator } from '../providers/supports.ts'
import type { RoutingConstraints } from './constraints.ts'
import { excludedWords, ruleWords } from './explain.ts'
import type { HealthView } from './health.ts'

/** The messages about a model that nobody serves, and about one that is served only in shapes that are not supported. */
interface Words {
  unserved(model: string): string
  shapes(shapes: string): string
}

/**
 * The candidates for these models, in order; at least one. Refuses with `not_found` what nobody serves, with
 * `unsupported_model` what is served only in shapes that are not supported, else with `no_route` and the reason of each.
 */
export function choose(
  asked: readonly RequestedModel[],
  constraints: RoutingConstraints,
  health: HealthView,
  together: boolean,
  say: Words,
): readonly Candidate[] {
  const route = routed(asked, constraints, health, together, ({ model }) =>
    refuse('not_found', { message: say.unserved(model), param: 'model' }),
  )
  return route.candidates.length > 0 ? route.candidates : nobody(asked, route.excluded, constraints, say.shapes)
}

/** The same where it may be nobody, as in a preview. */
export function routed(
  asked: readonly RequestedModel[],
  constraints: RoutingConstraints,
  health: HealthView,
  together: boolean,
  refuseUnserved: (asked: RequestedModel) => never,
): Route {
  const served = asked.filter(({ offers }) => offers.length > 0)
  const route = routeModels(served, constraints, health, together)
  const unserved = asked.find(({ offers, unknown }) => offers.length === 0 && unknown === undefined)
  // A provider that relays may know a name that nobody here does.
  if (unserved !== undefined && !route.candidates.some(({ offer }) => isAggregator(offer))) refuseUnserved(unserved)
  const unknown = asked.find((one) => one.unknown !== undefined)?.unknown
  if (served.length === 0 && unknown !== undefined) throw unknown
  return route
}

function nobody(
  asked: readonly RequestedModel[],
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
  const ruled = excluded.every(({ reason }) => reason === 'rule') ? excluded[0] : undefined
  const rule = ruled && brokenRule(ruled.offer, constraints)
  if (ruled && rule)
    refuse('policy_denied', {
      param: 'model',
      message: ruleWords(rule, ruled.offer),
      details: { rule: rule.kind === 'allowed' ? 'allowed_models' : 'keys', ...('of' in rule && { of: rule.of }) },
    })
  const reasons = tell(excluded, constraints)
  return refuse('no_route', {
    message: `No provider of \`${model}\` can handle this request. ${reasons
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
