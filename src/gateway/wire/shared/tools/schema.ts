import { isObject, type Json } from '../../../model/json.ts'
import { Losses } from '../losses.ts'

/** Every object must be closed and require all its properties. */
export function strictLegal(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(strictLegal)
  if (!isObject(schema)) return true
  const properties = isObject(schema['properties']) ? schema['properties'] : null
  if (schema['type'] === 'object' || properties) {
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    if (schema['additionalProperties'] !== false) return false
    if (!Object.keys(properties ?? {}).every((name) => required.includes(name))) return false
  }
  return Object.entries(schema).every(([keyword, value]) =>
    mapsOfSchemas.has(keyword) && isObject(value)
      ? Object.values(value).every(strictLegal)
      : !holdsSchema.has(keyword) || strictLegal(value),
  )
}

const mapsOfSchemas = new Set(['properties', '$defs', 'definitions'])
const holdsSchema = new Set(['items', 'anyOf', 'allOf', 'oneOf', 'additionalProperties', 'prefixItems', 'not'])

const unsupportedKeywords = new Set(
  `minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf maxItems uniqueItems
  minProperties maxProperties patternProperties propertyNames contains minContains maxContains`.split(/\s+/),
)
const formats = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '))

/**
 * Closes objects, turns `oneOf` into `anyOf`, and drops unsupported keywords, each a loss `response_format.<keyword>`.
 */
export function closedSchema(schema: object, losses: Losses): Json {
  return close(schema, losses) as Json
}

function close(schema: unknown, losses: Losses): unknown {
  if (Array.isArray(schema)) return schema.map((one) => close(one, losses))
  if (!isObject(schema)) return schema
  const result: Json = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (isRefused(keyword, value)) losses.add(`response_format.${keyword}`)
    else if (keyword === 'oneOf') result['anyOf'] = close(value, losses)
    else if (mapsOfSchemas.has(keyword) && isObject(value)) {
      result[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, close(one, losses)]))
    } else result[keyword] = holdsSchema.has(keyword) ? close(value, losses) : value
  }
  if (result['type'] === 'object' || result['properties'] !== undefined) {
    if (result['additionalProperties'] !== undefined && result['additionalProperties'] !== false) {
      losses.add('response_format.additionalProperties')
    }
    result['additionalProperties'] = false
  }
  return result
}

const isRefused = (keyword: string, value: unknown): boolean =>
  unsupportedKeywords.has(keyword) ||
  (keyword === 'minItems' && typeof value === 'number' && value > 1) ||
  (keyword === 'format' && typeof value === 'string' && !formats.has(value))
