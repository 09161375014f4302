import { refuse } from '#core/errors.ts'
import type { Cutoffs, MaxPrice, Sort, RoutingConstraints } from './constraints.ts'
import { isObject, type Json } from '../model/json.ts'
import { boolean, list, object, string } from '../wire/shared/request-fields.ts'

export interface Preferences {
  constraints: Partial<RoutingConstraints>
  /** Orders the offers of all requested models together instead of model by model. */
  together: boolean
}

const sorts = ['price', 'throughput', 'latency', 'exacto'] as const satisfies readonly Sort[]
const quantizations = 'int4 int8 fp4 mxfp4 nvfp4 fp6 fp8 mxfp8 fp16 bf16 fp32 unknown'.split(' ')
const percentiles = ['p50', 'p75', 'p90', 'p99'] as const
const prices = ['prompt', 'completion', 'request', 'image', 'audio'] as const
const knownNames: ReadonlySet<string> = new Set(
  `order allow_fallbacks require_parameters data_collection zdr enforce_distillable_text only ignore quantizations sort
  max_price preferred_min_throughput preferred_max_latency`.split(/\s+/),
)

export const preferenceNames: readonly string[] = [...knownNames, ...prices, ...percentiles, 'by', 'partition']

/**
 * OpenRouter's Provider Routing (openrouter.ai/docs). `parameters` are for `require_parameters`. Refuses
 * (`invalid_parameter`) wrong types; unknown fields are tolerated, as at OpenRouter.
 */
export function readPreferences(value: unknown, parameters: () => string[]): Preferences {
  const provider = object(value, 'provider')
  if (provider === undefined) return { constraints: {}, together: false }
  const names = (field: string): string[] | undefined =>
    list(provider[field], `provider.${field}`)?.map((name, i) => string(name, `provider.${field}.${i}`) ?? '')
  const flag = (field: string): boolean | undefined => boolean(provider[field], `provider.${field}`)
  const { by, partition } = readSort(provider['sort'])
  const policy = oneOf(['allow', 'deny'], provider['data_collection'], 'provider.data_collection')
  const quantizationNames = names('quantizations')
  quantizationNames?.forEach((word, i) => oneOf(quantizations, word, `provider.quantizations.${i}`))
  const constraints: Partial<RoutingConstraints> = {}
  const setConstraint = <K extends keyof RoutingConstraints>(
    key: K,
    value: RoutingConstraints[K] | undefined,
  ): void => {
    if (value !== undefined) constraints[key] = value
  }
  setConstraint('order', names('order'))
  setConstraint('only', names('only'))
  setConstraint('ignore', names('ignore'))
  setConstraint('allowFallbacks', flag('allow_fallbacks'))
  if (flag('require_parameters')) setConstraint('parameters', parameters())
  setConstraint('dataCollection', policy)
  setConstraint('zeroRetention', flag('zdr'))
  setConstraint('quantizations', quantizationNames)
  setConstraint('sort', by)
  setConstraint('maxPrice', readPrices(provider['max_price']))
  setConstraint('minThroughput', readCutoffs(provider, 'preferred_min_throughput'))
  setConstraint('maxLatency', readCutoffs(provider, 'preferred_max_latency'))
  // No license is known here, so this constraint excludes everything.
  if (flag('enforce_distillable_text')) setConstraint('distillable', true)
  return { constraints, together: partition === 'none' }
}

export const unknownPreferences = (provider: Json): string[] =>
  Object.keys(provider).filter((name) => !knownNames.has(name))

function readSort(value: unknown): { by?: Sort | undefined; partition?: string | undefined } {
  if (typeof value === 'string') return { by: oneOf(sorts, value, 'provider.sort') }
  const sort = object(value, 'provider.sort')
  if (sort === undefined) return {}
  return {
    by: oneOf(sorts, sort['by'], 'provider.sort.by'),
    partition: oneOf(['model', 'none'], sort['partition'], 'provider.sort.partition'),
  }
}

/** Clients send prices as numbers and as decimal strings. */
function readPrices(value: unknown): MaxPrice | undefined {
  const most = object(value, 'provider.max_price')
  if (most === undefined) return undefined
  const limits: Partial<Record<(typeof prices)[number], number>> = {}
  for (const name of prices) {
    const value = most[name]
    if (value === undefined || value === null) continue
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number !== 'number' || !(number >= 0)) return wrong(`provider.max_price.${name}`, 'a number of USD')
    limits[name] = number
  }
  return limits
}

function readCutoffs(provider: Json, field: string): Cutoffs | undefined {
  const value = provider[field]
  const param = `provider.${field}`
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && value >= 0) return { p50: value }
  if (!isObject(value)) return wrong(param, 'a number, or numbers by percentile')
  const cutoffs: Partial<Record<(typeof percentiles)[number], number>> = {}
  for (const name of percentiles) {
    const limit = value[name]
    if (limit === undefined || limit === null) continue
    if (typeof limit !== 'number' || !(limit >= 0)) return wrong(`${param}.${name}`, 'a number')
    cutoffs[name] = limit
  }
  return cutoffs
}

function oneOf<const T extends string>(words: readonly T[], value: unknown, param: string): T | undefined {
  if (value === undefined || value === null) return undefined
  const match = words.find((word) => word === value)
  return match ?? wrong(param, `one of ${words.join(', ')}`)
}

const wrong = (param: string, what: string): never =>
  refuse('invalid_parameter', { message: `\`${param}\` must be ${what}.`, param })
