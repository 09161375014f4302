import { refuse } from '#core/errors.ts'
import { type RequestedModel, type Candidate, type Route, routeModels } from './router.ts'
import { type Exclusion, brokenRule } from './filter.ts'
import { isAggregator } from '../providers/supports.ts'
import type { RoutingConstraints } from './constraints.ts'
import { excludedWords, ruleWords } from './explain.ts'
import type { HealthView } from './health.ts'

interface Words {
  unserved(model: string): string
  shapes(shapes: string): string
}

/**
 * At least one. Refuses with `not_found`, `unsupported_model` for models served only in unsupported shapes, else with
 * `no_route` and the reason for each.
 */
export function choose(
  requested: readonly RequestedModel[],
  constraints: RoutingConstraints,
  health: HealthView,
  together: boolean,
  say: Words,
): readonly Candidate[] {
  const route = routeRequested(requested, constraints, health, together, ({ model }) =>
    refuse('not_found', { message: say.unserved(model), param: 'model' }),
  )
  return route.candidates.length > 0 ? route.candidates : nobody(requested, route.excluded, constraints, say.shapes)
}

export function routeRequested(
  requested: readonly RequestedModel[],
  constraints: RoutingConstraints,
  health: HealthView,
  together: boolean,
  refuseUnserved: (model: RequestedModel) => never,
): Route {
  const servedModels = requested.filter(({ offers }) => offers.length > 0)
  const route = routeModels(servedModels, constraints, health, together)
  const unservedModel = requested.find(({ offers, unknown }) => offers.length === 0 && unknown === undefined)
  // An aggregator may know a model that is unknown here.
  if (unservedModel !== undefined && !route.candidates.some(({ offer }) => isAggregator(offer)))
    refuseUnserved(unservedModel)
  const unknown = requested.find((one) => one.unknown !== undefined)?.unknown
  if (servedModels.length === 0 && unknown !== undefined) throw unknown
  return route
}

function nobody(
  requested: readonly RequestedModel[],
  exclusions: Route['excluded'],
  constraints: RoutingConstraints,
  sayShapes: (shapes: string) => string,
): never {
  const [{ model } = { model: '' }] = requested
  if (exclusions.every(({ reason }) => reason === 'shape')) {
    const shapes = [...new Set(exclusions.map(({ offer }) => offer.endpoint.shape))].join(', ')
    refuse('unsupported_model', {
      message: sayShapes(shapes),
      param: 'model',
    })
  }
  const blockedByRule = exclusions.every(({ reason }) => reason === 'rule') ? exclusions[0] : undefined
  const rule = blockedByRule && brokenRule(blockedByRule.offer, constraints)
  if (blockedByRule && rule)
    refuse('policy_denied', {
      param: 'model',
      message: ruleWords(rule, blockedByRule.offer),
      details: { rule: rule.kind === 'allowed' ? 'allowed_models' : 'keys', ...('of' in rule && { of: rule.of }) },
    })
  const reasons = tell(exclusions, constraints)
  return refuse('no_route', {
    message: `No provider of \`${model}\` can handle this request. ${reasons
      .slice(0, MAX_TOLD)
      .map(({ provider, reason }) => `${provider}: ${reason}`)
      .join(' ')}`,
    details: { models: requested.map((one) => one.model), excluded: reasons },
  })
}

const MAX_TOLD = 5

export const tell = (
  exclusions: Route['excluded'],
  constraints: RoutingConstraints,
): { provider: string; reason: string; code: Exclusion }[] =>
  exclusions.map(({ offer, reason }) => ({
    provider: offer.endpoint.slug,
    reason: excludedWords(reason, offer, constraints),
    code: reason,
  }))
