import { isObject, type Json, listOf } from '../../../model/json.ts'
import type { Losses } from '../losses.ts'

/** What a vendor documents of the schema of a tool's arguments. Below its root all take the whole of JSON Schema 2020-12. */
interface SchemaLimits {
  /** Keywords that the root may not have; null: it may have `kept` alone. */
  refused: readonly string[] | null
  kept?: readonly string[]
  /** The names that properties may have. */
  names?: RegExp
}

/**
 * `schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level`: OpenAI's words
 * (langchain-ai/langchainjs#9804). Servers of its shape that nobody knows are asked within the same limits.
 */
export const openaiLimits: SchemaLimits = { refused: ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'] }

/**
 * `input_schema does not support oneOf, allOf, or anyOf at the top level` (anthropics/claude-code#27337), and `Property keys
 * should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`.
 */
export const anthropicLimits: SchemaLimits = { refused: ['anyOf', 'oneOf', 'allOf'], names: /^[a-zA-Z0-9_.-]{1,64}$/ }

/** Google takes unions anywhere, but nothing beside a `$ref` (ai.google.dev/api/caching, FunctionDeclaration). */
export const geminiLimits: SchemaLimits = { refused: ['allOf'] }

/** "Only three fields are supported in the top-level object" (Nova user guide, tool use): what every house behind it takes. */
export const converseLimits: SchemaLimits = { refused: null, kept: ['type', 'properties', 'required'] }

/** Keywords that say nothing about values: they are no loss. */
const silent: ReadonlySet<string> = new Set(
  '$schema $id $comment title description default examples deprecated readOnly writeOnly $defs definitions'.split(' '),
)
const unions = ['anyOf', 'oneOf'] as const
const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
/** Keywords whose value is a map of schemas, and those whose value is a schema or a list of them. */
const maps: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
])
const holds: ReadonlySet<string> = new Set(
  'items prefixItems contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties anyOf oneOf allOf not if then else'.split(
    ' ',
  ),
)
/** Branches and references of one root that are followed; a schema that names itself many times has more. */
const MOST_BRANCHES = 1_000
/** Bytes that references may add to a schema when they are put in their places. */
const MOST_INLINED = 1 << 20

/** The work on one schema. */
interface Work {
  root: Json
  losses: Losses
  branches: number
  bytes: number
  sizes: Map<string, number>
}

/**
 * The schema of a tool's arguments as the vendor takes it: its root is a plain object. Of alternatives the root has the
 * properties of all, and requires what each of them requires. Each keyword that goes is a loss `tools.parameters.<keyword>`.
 */
export function toolSchema(parameters: object, limits: SchemaLimits, losses: Losses): Json {
  const given = today(parameters, losses) as Json
  const work = { root: given, losses, branches: MOST_BRANCHES, bytes: MOST_INLINED, sizes: new Map<string, number>() }
  const root = plainRoot(given, work, [])
  const lost = (keyword: string): void => losses.add(`tools.parameters.${keyword}`)
  const fitted: Json = { type: 'object', properties: {} }
  for (const [keyword, value] of Object.entries(root)) {
    if (limits.refused === null ? limits.kept!.includes(keyword) : !limits.refused.includes(keyword))
      fitted[keyword] = value
    else if (!silent.has(keyword)) lost(keyword)
  }
  if (fitted['type'] !== 'object') lost('type')
  fitted['type'] = 'object'
  const properties = isObject(fitted['properties']) ? fitted['properties'] : {}
  const names = Object.keys(properties)
  const odd = limits.names === undefined ? [] : names.filter((name) => !limits.names!.test(name))
  if (odd.length > 0) lost('properties')
  const dropped = new Set(odd)
  fitted['properties'] =
    odd.length === 0
      ? properties
      : Object.fromEntries(Object.entries(properties).filter(([name]) => !dropped.has(name)))
  const required = listOf(fitted['required']).filter(
    (name) => typeof name === 'string' && !dropped.has(name) && Object.hasOwn(properties, name),
  )
  if (required.length > 0) fitted['required'] = [...new Set(required)]
  else delete fitted['required']
  // References stay where definitions can be sent, unless they led into what is gone.
  const stays = (reference: string): boolean => limits.refused !== null && resolve(reference, fitted) !== null
  return inlined(fitted, work, [], stays) as Json
}

/** The root without references and unions; what is left of the keywords that a vendor may refuse stands as it was. */
function plainRoot(schema: Json, work: Work, inside: readonly string[]): Json {
  const { $ref: reference, anyOf: _, oneOf: __, allOf: ___, ...own } = schema
  const plain: Json = {
    ...own,
    properties: { ...(isObject(own['properties']) ? own['properties'] : {}) },
    required: [...listOf(own['required'])],
  }
  const lost = (keyword: string): void => work.losses.add(`tools.parameters.${keyword}`)
  if (typeof reference === 'string') {
    const target = inside.includes(reference) || --work.branches < 0 ? null : resolve(reference, work.root)
    if (target === null) lost('$ref')
    else join(plain, plainRoot(target, work, [...inside, reference]), true)
  }
  const all = branchesOf(schema['allOf'], work, inside)
  if (schema['allOf'] !== undefined) lost('allOf')
  for (const branch of all) join(plain, branch, true)
  for (const union of unions) {
    if (schema[union] === undefined) continue
    lost(union)
    const branches = branchesOf(schema[union], work, inside)
    const demands = branches.map((branch) => new Set(listOf(branch['required'])))
    const common = [...(demands[0] ?? [])].filter((name) => demands.every((names) => names.has(name)))
    ;(plain['required'] as unknown[]).push(...common)
    for (const branch of branches) join(plain, branch, false)
  }
  return plain
}

const branchesOf = (given: unknown, work: Work, inside: readonly string[]): Json[] =>
  listOf(given).flatMap((branch) => (isObject(branch) && --work.branches >= 0 ? [plainRoot(branch, work, inside)] : []))

/** Alternatives of one property that are kept; a property with more takes any value. */
const MOST_ALTERNATIVES = 8

/** Adds the properties of a branch. `demands`: it holds always, so that what it requires is required. */
function join(plain: Json, branch: Json, demands: boolean): void {
  const properties = plain['properties'] as Json
  for (const [name, schema] of Object.entries(branch['properties'] as Json))
    Object.defineProperty(properties, name, {
      value: Object.hasOwn(properties, name) ? either(properties[name], schema) : schema,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  if (demands) (plain['required'] as unknown[]).push(...listOf(branch['required']))
  for (const name of ['$defs', 'definitions'])
    if (isObject(branch[name])) plain[name] = { ...branch[name], ...(isObject(plain[name]) ? plain[name] : {}) }
  if (plain['description'] === undefined && demands && branch['description'] !== undefined)
    plain['description'] = branch['description']
}

function either(known: unknown, other: unknown): unknown {
  if (JSON.stringify(known) === JSON.stringify(other)) return known
  const isUnion = isObject(known) && Object.keys(known).length === 1 && Array.isArray(known['anyOf'])
  const alternatives: unknown[] = isUnion ? (known['anyOf'] as unknown[]) : [known]
  return alternatives.length >= MOST_ALTERNATIVES ? {} : { anyOf: [...alternatives, other] }
}

/** What a reference within the schema points at; null: nothing, or it points elsewhere. */
function resolve(reference: string, root: Json): Json | null {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return null
  let at: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, name) ? (at as Json)[name] : undefined
  }
  return isObject(at) ? at : null
}

/** The schema with what its references lead to in their places, but those that stay. One that leads to itself is any value. */
function inlined(
  schema: unknown,
  work: Work,
  inside: readonly string[],
  stays: (reference: string) => boolean,
): unknown {
  if (Array.isArray(schema)) return schema.map((one) => inlined(one, work, inside, stays))
  if (!isObject(schema)) return schema
  const { $ref: reference, ...own } = schema
  if (typeof reference !== 'string' || stays(reference))
    return eachSchema(schema, (one) => inlined(one, work, inside, stays))
  const target = inside.includes(reference) ? null : resolve(reference, work.root)
  let size = work.sizes.get(reference)
  if (size === undefined) work.sizes.set(reference, (size = JSON.stringify(target).length))
  if (target === null || (work.bytes -= size) < 0) {
    work.losses.add('tools.parameters.$ref')
    return own
  }
  const { $defs: _, definitions: __, ...found } = target
  return { ...(inlined(found, work, [...inside, reference], stays) as Json), ...own }
}

function eachSchema(schema: Json, change: (schema: unknown) => unknown): Json {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      maps.has(keyword) && isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one === true ? {} : one)]))
        : holds.has(keyword)
          ? change(value)
          : value,
    ]),
  )
}

/** Schemas of older drafts, and what is no schema at all, as JSON Schema 2020-12 has them. */
function today(schema: unknown, losses: Losses): unknown {
  if (Array.isArray(schema)) return schema.map((one) => today(one, losses))
  if (!isObject(schema)) return schema
  const plain = eachSchema(schema, (one) => today(one, losses))
  const drop = (keyword: string): void => {
    delete plain[keyword]
    losses.add(`tools.parameters.${keyword}`)
  }
  // Draft 7 and older: a list of items by their place.
  if (Array.isArray(plain['items'])) {
    plain['prefixItems'] = plain['items']
    delete plain['items']
    if (plain['additionalItems'] !== undefined) plain['items'] = today(plain['additionalItems'], losses)
  }
  delete plain['additionalItems']
  // Draft 4: the bound beside a flag.
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof plain[flag] !== 'boolean') continue
    if (plain[flag] && typeof plain[bound] === 'number') {
      plain[flag] = plain[bound]
      delete plain[bound]
    } else delete plain[flag]
  }
  const named = [plain['type']].flat()
  if (plain['type'] !== undefined && (named.length === 0 || !named.every((one) => types.has(one)))) {
    const known = named.filter((one) => types.has(one))
    if (known.length > 0) plain['type'] = known
    else drop('type')
  }
  // Draft 3 said of a property itself that it is required.
  if (plain['required'] !== undefined && !Array.isArray(plain['required'])) delete plain['required']
  for (const keyword of ['enum', 'anyOf', 'oneOf', 'allOf', 'prefixItems'])
    if (plain[keyword] !== undefined && (!Array.isArray(plain[keyword]) || plain[keyword].length === 0)) drop(keyword)
  // OpenAI: `array schema missing items`.
  if (named.includes('array') && plain['items'] === undefined && plain['prefixItems'] === undefined) plain['items'] = {}
  return plain
}
