import { refuse } from '#core/errors.ts'
import type { Cutoffs, MaxPrice, Sort, RoutingConstraints } from './constraints.ts'
import { isObject, type Json } from '../model/json.ts'
import { boolean, list, object, string } from '../wire/shared/request-fields.ts'

/** The preferences that a `provider` object states about the route. */
export interface Preferences {
  constraints: Partial<RoutingConstraints>
  /** All that serve any of the request's models are put in one order, instead of model after model. */
  together: boolean
}

const sorts = ['price', 'throughput', 'latency', 'exacto'] as const satisfies readonly Sort[]
const quantizations = 'int4 int8 fp4 mxfp4 nvfp4 fp6 fp8 mxfp8 fp16 bf16 fp32 unknown'.split(' ')
const percentiles = ['p50', 'p75', 'p90', 'p99'] as const
const prices = ['prompt', 'completion', 'request', 'image', 'audio'] as const
const known: ReadonlySet<string> = new Set(
  `order allow_fallbacks require_parameters data_collection zdr enforce_distillable_text only ignore quantizations sort
  max_price preferred_min_throughput preferred_max_latency`.split(/\s+/),
)

/** Names inside a `provider` object that bound the route. */
export const preferenceNames: readonly string[] = [...known, ...prices, ...percentiles, 'by', 'partition']

/**
 * OpenRouter's provider preferences (Provider Routing, openrouter.ai/docs). `parameters` are those of the request, for
 * `require_parameters`. Refuses (`invalid_parameter`) what is of the wrong type; unknown fields are tolerated, as there.
 */
export function readPreferences(given: unknown, parameters: () => string[]): Preferences {
  const provider = object(given, 'provider')
  if (provider === undefined) return { constraints: {}, together: false }
  const names = (field: string): string[] | undefined =>
    list(provider[field], `provider.${field}`)?.map((name, i) => string(name, `provider.${field}.${i}`) ?? '')
  const flag = (field: string): boolean | undefined => boolean(provider[field], `provider.${field}`)
  const { by, partition } = readSort(provider['sort'])
  const policy = oneOf(['allow', 'deny'], provider['data_collection'], 'provider.data_collection')
  const wanted = names('quantizations')
  wanted?.forEach((word, i) => oneOf(quantizations, word, `provider.quantizations.${i}`))
  const constraints: Partial<RoutingConstraints> = {}
  const set = <K extends keyof RoutingConstraints>(key: K, value: RoutingConstraints[K] | undefined): void => {
    if (value !== undefined) constraints[key] = value
  }
  set('order', names('order'))
  set('only', names('only'))
  set('ignore', names('ignore'))
  set('allowFallbacks', flag('allow_fallbacks'))
  if (flag('require_parameters')) set('parameters', parameters())
  set('dataCollection', policy)
  set('zeroRetention', flag('zdr'))
  set('quantizations', wanted)
  set('sort', by)
  set('maxPrice', readPrices(provider['max_price']))
  set('minThroughput', readCutoffs(provider, 'preferred_min_throughput'))
  set('maxLatency', readCutoffs(provider, 'preferred_max_latency'))
  // Nobody's licence is known here, so whoever insists gets nobody.
  if (flag('enforce_distillable_text')) set('distillable', true)
  return { constraints, together: partition === 'none' }
}

/** Fields of a `provider` object that mean nothing here. */
export const unknownPreferences = (provider: Json): string[] => Object.keys(provider).filter((name) => !known.has(name))

function readSort(given: unknown): { by?: Sort | undefined; partition?: string | undefined } {
  if (typeof given === 'string') return { by: oneOf(sorts, given, 'provider.sort') }
  const sort = object(given, 'provider.sort')
  if (sort === undefined) return {}
  return {
    by: oneOf(sorts, sort['by'], 'provider.sort.by'),
    partition: oneOf(['model', 'none'], sort['partition'], 'provider.sort.partition'),
  }
}

/** Clients send prices as numbers and as decimal strings. */
function readPrices(given: unknown): MaxPrice | undefined {
  const most = object(given, 'provider.max_price')
  if (most === undefined) return undefined
  const found: Partial<Record<(typeof prices)[number], number>> = {}
  for (const name of prices) {
    const value = most[name]
    if (value === undefined || value === null) continue
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    if (typeof number !== 'number' || !(number >= 0)) return wrong(`provider.max_price.${name}`, 'a number of USD')
    found[name] = number
  }
  return found
}

function readCutoffs(provider: Json, field: string): Cutoffs | undefined {
  const value = provider[field]
  const param = `provider.${field}`
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && value >= 0) return { p50: value }
  if (!isObject(value)) return wrong(param, 'a number, or numbers by percentile')
  const found: Partial<Record<(typeof percentiles)[number], number>> = {}
  for (const name of percentiles) {
    const bound = value[name]
    if (bound === undefined || bound === null) continue
    if (typeof bound !== 'number' || !(bound >= 0)) return wrong(`${param}.${name}`, 'a number')
    found[name] = bound
  }
  return found
}

function oneOf<const T extends string>(words: readonly T[], given: unknown, param: string): T | undefined {
  if (given === undefined || given === null) return undefined
  const found = words.find((word) => word === given)
  return found ?? wrong(param, `one of ${words.join(', ')}`)
}

const wrong = (param: string, what: string): never =>
  refuse('invalid_parameter', { message: `\`${param}\` must be ${what}.`, param })
