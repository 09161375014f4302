import { isObject, type Json, listOf } from '../../../model/json.ts'
import type { Losses } from '../losses.ts'

/** Below the root, all vendors accept JSON Schema 2020-12. */
interface SchemaLimits {
  /** Null: only `kept` is allowed at the root. */
  refused: readonly string[] | null
  kept?: readonly string[]
  names?: RegExp
}

/**
 * "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level": OpenAI
 * (langchain-ai/langchainjs#9804). Unknown servers with OpenAI's shape get the same limits.
 */
export const openaiLimits: SchemaLimits = { refused: ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'] }

/**
 * `input_schema does not support oneOf, allOf, or anyOf at the top level` (anthropics/claude-code#27337), and `Property
 * keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`.
 */
export const anthropicLimits: SchemaLimits = { refused: ['anyOf', 'oneOf', 'allOf'], names: /^[a-zA-Z0-9_.-]{1,64}$/ }

/** Google accepts unions anywhere, but nothing beside a `$ref` (ai.google.dev/api/caching, FunctionDeclaration). */
export const geminiLimits: SchemaLimits = { refused: ['allOf'] }

/**
 * "Only three fields are supported in the top-level object" (Nova user guide, tool use). Every model on Bedrock accepts
 * these.
 */
export const converseLimits: SchemaLimits = { refused: null, kept: ['type', 'properties', 'required'] }

/** Annotations don't constrain values, so they are dropped silently. */
const silent: ReadonlySet<string> = new Set(
  '$schema $id $comment title description default examples deprecated readOnly writeOnly $defs definitions'.split(' '),
)
const unions = ['anyOf', 'oneOf'] as const
const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
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
/** Limit of followed branches and references per root, since recursive schemas never end. */
const MAX_BRANCHES = 1_000
/** Bytes that inlined references may add to a schema. */
const MAX_INLINED = 1 << 20

interface Work {
  root: Json
  losses: Losses
  branches: number
  bytes: number
  sizes: Map<string, number>
}

/**
 * The root becomes a plain object. Alternatives at the root are merged: it has all their properties and requires those
 * that every alternative requires. Each dropped keyword is a loss `tools.parameters.<keyword>`.
 */
export function toolSchema(parameters: object, limits: SchemaLimits, losses: Losses): Json {
  const schema = today(parameters, losses) as Json
  const work = { root: schema, losses, branches: MAX_BRANCHES, bytes: MAX_INLINED, sizes: new Map<string, number>() }
  const root = plainRoot(schema, work, [])
  const addLoss = (keyword: string): void => losses.add(`tools.parameters.${keyword}`)
  const result: Json = { type: 'object', properties: {} }
  for (const [keyword, value] of Object.entries(root)) {
    if (limits.refused === null ? limits.kept!.includes(keyword) : !limits.refused.includes(keyword))
      result[keyword] = value
    else if (!silent.has(keyword)) addLoss(keyword)
  }
  if (result['type'] !== 'object') addLoss('type')
  result['type'] = 'object'
  const properties = isObject(result['properties']) ? result['properties'] : {}
  const names = Object.keys(properties)
  const odd = limits.names === undefined ? [] : names.filter((name) => !limits.names!.test(name))
  if (odd.length > 0) addLoss('properties')
  const unsupported = new Set(odd)
  result['properties'] =
    odd.length === 0
      ? properties
      : Object.fromEntries(Object.entries(properties).filter(([name]) => !unsupported.has(name)))
  const required = listOf(result['required']).filter(
    (name) => typeof name === 'string' && !unsupported.has(name) && Object.hasOwn(properties, name),
  )
  if (required.length > 0) result['required'] = [...new Set(required)]
  else delete result['required']
  // References stay where the vendor accepts definitions, unless their target was dropped.
  const stays = (reference: string): boolean => limits.refused !== null && resolve(reference, result) !== null
  return inlined(result, work, [], stays) as Json
}

function plainRoot(schema: Json, work: Work, inside: readonly string[]): Json {
  const { $ref: reference, anyOf: _, oneOf: __, allOf: ___, ...own } = schema
  const plain: Json = {
    ...own,
    properties: { ...(isObject(own['properties']) ? own['properties'] : {}) },
    required: [...listOf(own['required'])],
  }
  const addLoss = (keyword: string): void => work.losses.add(`tools.parameters.${keyword}`)
  if (typeof reference === 'string') {
    const target = inside.includes(reference) || --work.branches < 0 ? null : resolve(reference, work.root)
    if (target === null) addLoss('$ref')
    else join(plain, plainRoot(target, work, [...inside, reference]), true)
  }
  const all = branchesOf(schema['allOf'], work, inside)
  if (schema['allOf'] !== undefined) addLoss('allOf')
  for (const branch of all) join(plain, branch, true)
  for (const union of unions) {
    if (schema[union] === undefined) continue
    addLoss(union)
    const branches = branchesOf(schema[union], work, inside)
    const demands = branches.map((branch) => new Set(listOf(branch['required'])))
    const common = [...(demands[0] ?? [])].filter((name) => demands.every((names) => names.has(name)))
    ;(plain['required'] as unknown[]).push(...common)
    for (const branch of branches) join(plain, branch, false)
  }
  return plain
}

const branchesOf = (value: unknown, work: Work, inside: readonly string[]): Json[] =>
  listOf(value).flatMap((branch) => (isObject(branch) && --work.branches >= 0 ? [plainRoot(branch, work, inside)] : []))

/** Alternatives kept for one property. A property with more accepts any value. */
const MAX_ALTERNATIVES = 8

/** With `demands`, the branch always applies, so its required properties are required. */
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

function either(one: unknown, other: unknown): unknown {
  if (JSON.stringify(one) === JSON.stringify(other)) return one
  const isUnion = isObject(one) && Object.keys(one).length === 1 && Array.isArray(one['anyOf'])
  const alternatives: unknown[] = isUnion ? (one['anyOf'] as unknown[]) : [one]
  return alternatives.length >= MAX_ALTERNATIVES ? {} : { anyOf: [...alternatives, other] }
}

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

/** A recursive reference becomes a schema for any value. */
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
  const { $defs: _, definitions: __, ...inlinedTarget } = target
  return { ...(inlined(inlinedTarget, work, [...inside, reference], stays) as Json), ...own }
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

/** Also for values that aren't schemas. */
function today(schema: unknown, losses: Losses): unknown {
  if (Array.isArray(schema)) return schema.map((one) => today(one, losses))
  if (!isObject(schema)) return schema
  const plain = eachSchema(schema, (one) => today(one, losses))
  const drop = (keyword: string): void => {
    delete plain[keyword]
    losses.add(`tools.parameters.${keyword}`)
  }
  // Draft 7 and older: `items` as a list is positional.
  if (Array.isArray(plain['items'])) {
    plain['prefixItems'] = plain['items']
    delete plain['items']
    if (plain['additionalItems'] !== undefined) plain['items'] = today(plain['additionalItems'], losses)
  }
  delete plain['additionalItems']
  // Draft 4: a boolean flag beside the bound.
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
  const names = [plain['type']].flat()
  if (plain['type'] !== undefined && (names.length === 0 || !names.every((one) => types.has(one)))) {
    const validTypes = names.filter((one) => types.has(one))
    if (validTypes.length > 0) plain['type'] = validTypes
    else drop('type')
  }
  // Draft 3: `required` is a flag on the property itself.
  if (plain['required'] !== undefined && !Array.isArray(plain['required'])) delete plain['required']
  for (const keyword of ['enum', 'anyOf', 'oneOf', 'allOf', 'prefixItems'])
    if (plain[keyword] !== undefined && (!Array.isArray(plain[keyword]) || plain[keyword].length === 0)) drop(keyword)
  // OpenAI: `array schema missing items`.
  if (names.includes('array') && plain['items'] === undefined && plain['prefixItems'] === undefined) plain['items'] = {}
  return plain
}
