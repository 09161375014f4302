import { isObject, type Json } from '../../../model/json.ts'
import { Losses } from '../losses.ts'

/** Whether OpenAI takes the schema as strict: each object closed, and every property of it required. */
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

/** Keywords whose value is a map of names to schemas, and those whose value is a schema or a list of them. */
const mapsOfSchemas = new Set(['properties', '$defs', 'definitions'])
const holdsSchema = new Set(['items', 'anyOf', 'allOf', 'oneOf', 'additionalProperties', 'prefixItems', 'not'])

/** Keywords that Anthropic's structured output refuses. */
const unsupported = new Set(
  `minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf maxItems uniqueItems
  minProperties maxProperties patternProperties propertyNames contains minContains maxContains`.split(/\s+/),
)
const formats = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '))

/**
 * The schema as Anthropic's `output_config.format` takes it: objects closed, `oneOf` as `anyOf`, and without the
 * keywords it refuses, each of which is a loss `response_format.<keyword>`.
 */
export function closedSchema(schema: object, losses: Losses): Json {
  return close(schema, losses) as Json
}

function close(schema: unknown, losses: Losses): unknown {
  if (Array.isArray(schema)) return schema.map((one) => close(one, losses))
  if (!isObject(schema)) return schema
  const closed: Json = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (refused(keyword, value)) losses.add(`response_format.${keyword}`)
    else if (keyword === 'oneOf') closed['anyOf'] = close(value, losses)
    else if (mapsOfSchemas.has(keyword) && isObject(value)) {
      closed[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, close(one, losses)]))
    } else closed[keyword] = holdsSchema.has(keyword) ? close(value, losses) : value
  }
  if (closed['type'] === 'object' || closed['properties'] !== undefined) {
    if (closed['additionalProperties'] !== undefined && closed['additionalProperties'] !== false) {
      losses.add('response_format.additionalProperties')
    }
    closed['additionalProperties'] = false
  }
  return closed
}

const refused = (keyword: string, value: unknown): boolean =>
  unsupported.has(keyword) ||
  (keyword === 'minItems' && typeof value === 'number' && value > 1) ||
  (keyword === 'format' && typeof value === 'string' && !formats.has(value))
