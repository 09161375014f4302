import { isObject, type Json } from '../../model/json.ts'
import type { Losses } from '../shared/losses.ts'

/** ai.google.dev/api/caching#FunctionDeclaration. */
const supported = new Set(
  `$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf
  oneOf properties additionalProperties required propertyOrdering`.split(/\s+/),
)
const silent = new Set(['$schema', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'])
/** Annotations for readers, dropped silently. */
const descriptive = new Set(['title', 'description'])
const maps = new Set(['properties', '$defs'])
const holds = new Set(['items', 'prefixItems', 'anyOf', 'oneOf', 'additionalProperties'])

/**
 * `const` becomes an `enum` of one, `definitions` becomes `$defs`, an `allOf` of one becomes that one. Every other
 * keyword would make Google reject the request, so it is a loss `<at>.<keyword>`.
 */
export const subsetSchema = (schema: object, at: string, losses: Losses): Json => subset(schema, at, losses) as Json

function subset(schema: unknown, at: string, losses: Losses): unknown {
  if (Array.isArray(schema))
    return schema.filter((one) => one !== false || lose(at, losses)).map((one) => subset(one, at, losses))
  if (schema === true) return {}
  if (!isObject(schema)) return schema
  const result: Json = {}
  for (const [keyword, value] of Object.entries(schema)) {
    addKeyword(result, keyword, value, at, losses)
  }
  // Only keywords with a dollar sign may be beside a reference.
  if (result['$ref'] !== undefined)
    for (const keyword of Object.keys(result)) {
      if (keyword.startsWith('$')) continue
      if (!descriptive.has(keyword)) losses.add(`${at}.${keyword}`)
      delete result[keyword]
    }
  // A required name without a property is rejected.
  if (Array.isArray(result['required'])) {
    const names = new Set<unknown>(Object.keys(isObject(result['properties']) ? result['properties'] : {}))
    result['required'] = result['required'].filter((name) => names.has(name))
  }
  return result
}

/** Converts one keyword into `result`, or adds it to `losses`. */
function addKeyword(result: Json, keyword: string, value: unknown, at: string, losses: Losses): void {
  if (keyword === 'const') result['enum'] = [value]
  else if (keyword === 'definitions' && isObject(value))
    result['$defs'] = { ...each(value, at, losses), ...(isObject(result['$defs']) ? result['$defs'] : {}) }
  else if (keyword === '$ref' && typeof value === 'string') result['$ref'] = value.replace('#/definitions/', '#/$defs/')
  else if (keyword === 'allOf' && Array.isArray(value) && value.length === 1 && isObject(value[0]))
    Object.assign(result, subset(value[0], at, losses))
  else if (keyword === '$defs' && isObject(value))
    result[keyword] = { ...(isObject(result[keyword]) ? result[keyword] : {}), ...each(value, at, losses) }
  else if (maps.has(keyword) && isObject(value)) result[keyword] = each(value, at, losses)
  else if (keyword === 'items' && value === false) losses.add(`${at}.${keyword}`)
  else if (keyword === 'additionalProperties' && typeof value === 'boolean') result[keyword] = value
  else if (supported.has(keyword)) result[keyword] = holds.has(keyword) ? subset(value, at, losses) : value
  else if (!silent.has(keyword)) losses.add(`${at}.${keyword}`)
}

const each = (schemas: Json, at: string, losses: Losses): Json =>
  Object.fromEntries(
    Object.entries(schemas)
      .filter(([, one]) => one !== false || lose(at, losses))
      .map(([name, one]) => [name, subset(one, at, losses)]),
  )

/** Google doesn't accept `false` as a schema: the property is left out. */
function lose(at: string, losses: Losses): false {
  losses.add(`${at}.false`)
  return false
}
