import { type Schema, resolve } from './schemas.ts'

/**
 * An example value: the schema's own, else the simplest. Objects get `all` properties, only the `required` ones, or
 * with `telling` also nested objects, whose content can't be guessed.
 */
export function exampleOf(
  schema: Schema,
  components: Record<string, Schema>,
  name = '',
  of: 'all' | 'required' | 'telling' = 'all',
  depth = 0,
): unknown {
  const { type, properties, required = [], items, anyOf, oneOf, allOf, ...rest } = resolve(schema, components)
  if (rest.examples?.[0] !== undefined) return rest.examples[0]
  if (rest.const !== undefined) return rest.const
  if (rest.default !== undefined) return rest.default
  if (rest.enum) return rest.enum[0]
  if (depth > MAX_DEPTH) return null
  // A recursive schema stops at the first optional level.
  const deep = depth > DEEP
  const inner = (one: Schema, called = name) => exampleOf(one, components, called, deep ? 'required' : of, depth + 1)
  // Null is typical for `archived_at` or `revoked_at`.
  const nullable = Array.isArray(type) ? type.includes('null') : (anyOf ?? oneOf)?.some((one) => one.type === 'null')
  if (nullable && (deep || name.endsWith('_at'))) return null
  const choice = (anyOf ?? oneOf)?.find((one) => one.type !== 'null')
  if (choice) return inner(choice)
  if (allOf) return Object.assign({}, ...allOf.map((one) => inner(one) as object)) as unknown
  const plain = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  if (plain === 'object') return Object.fromEntries(shownProperties().map(([key, one]) => [key, inner(one, key)]))
  if (plain === 'array') return items && !deep ? [inner(items)] : []
  return scalarExample(plain, name, rest)

  function shownProperties(): [string, Schema][] {
    return Object.entries(properties ?? {}).filter(
      ([key, one]) =>
        (of === 'all' && !deep) ||
        required.includes(key) ||
        (of === 'telling' && !deep && resolve(one, components).properties !== undefined),
    )
  }
}

function scalarExample(type: string | undefined, name: string, schema: Schema): unknown {
  switch (type) {
    case 'integer':
    case 'number':
      return Math.min(schema.maximum ?? Infinity, Math.max(schema.minimum ?? 0, numberFor(name, type)))
    case 'boolean':
      return false
    case 'string':
      return textFor(name, schema)
    default:
      return type === undefined && schema.pattern === undefined ? {} : null
  }
}

const DEEP = 6
const MAX_DEPTH = 24

const ULID = '01KAJ8R3T2M6QK5W9V0XBZC4DE'

const numberFor = (name: string, type: string): number =>
  name.endsWith('_usd') ? 0.0125 : type === 'integer' ? 1 : 0.5

function textFor(name: string, { format, minLength, description = '' }: Schema): string {
  if (format === 'date-time') return '2026-11-21T09:30:00.000Z'
  if (format === 'date') return '2026-11-21'
  if (format === 'uri' || name === 'url') return 'https://example.com/'
  if (name === 'id' || name.endsWith('_id') || description.includes('ULID')) return ULID
  if (name === 'email') return 'ada@example.com'
  if (name.endsWith('password')) return 'correct horse battery'
  if (name === 'model') return 'sim/echo'
  const text = (name || 'text').replaceAll('_', ' ')
  return text.padEnd(typeof minLength === 'number' ? minLength : 0, '.')
}

/** The required properties of an object schema. */
export function leastExample(schema: Schema, components: Record<string, Schema>): Record<string, unknown> {
  const { properties = {}, required = [] } = resolve(schema, components)
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name]!, components, name)]))
}
