import { isObject, type Json } from '../../model/json.ts'
import type { Losses } from '../shared/losses.ts'

/** Keywords of JSON Schema that `parametersJsonSchema` and `responseJsonSchema` take (ai.google.dev/api/caching#FunctionDeclaration). */
const known = new Set(
  `$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf
  oneOf properties additionalProperties required propertyOrdering`.split(/\s+/),
)
/** Keywords that say nothing about values. */
const silent = new Set(['$schema', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'])
/** Keywords that tell a reader something and restrict nothing. */
const said = new Set(['title', 'description'])
const maps = new Set(['properties', '$defs'])
const holds = new Set(['items', 'prefixItems', 'anyOf', 'oneOf', 'additionalProperties'])

/**
 * The schema in the subset that Google takes: `const` as an `enum` of one, `definitions` as `$defs`, an `allOf` of one as
 * that one. Every other keyword is a loss `<at>.<keyword>`, for with it the whole request would be refused.
 */
export const subsetSchema = (schema: object, at: string, losses: Losses): Json => subset(schema, at, losses) as Json

function subset(schema: unknown, at: string, losses: Losses): unknown {
  if (Array.isArray(schema))
    return schema.filter((one) => one !== false || lose(at, losses)).map((one) => subset(one, at, losses))
  // Any value.
  if (schema === true) return {}
  if (!isObject(schema)) return schema
  const kept: Json = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'const') kept['enum'] = [value]
    else if (keyword === 'definitions' && isObject(value))
      kept['$defs'] = { ...each(value, at, losses), ...(isObject(kept['$defs']) ? kept['$defs'] : {}) }
    else if (keyword === '$ref' && typeof value === 'string') kept['$ref'] = value.replace('#/definitions/', '#/$defs/')
    else if (keyword === 'allOf' && Array.isArray(value) && value.length === 1 && isObject(value[0]))
      Object.assign(kept, subset(value[0], at, losses))
    else if (keyword === '$defs' && isObject(value))
      kept[keyword] = { ...(isObject(kept[keyword]) ? kept[keyword] : {}), ...each(value, at, losses) }
    else if (maps.has(keyword) && isObject(value)) kept[keyword] = each(value, at, losses)
    else if (keyword === 'items' && value === false) losses.add(`${at}.${keyword}`)
    else if (keyword === 'additionalProperties' && typeof value === 'boolean') kept[keyword] = value
    else if (known.has(keyword)) kept[keyword] = holds.has(keyword) ? subset(value, at, losses) : value
    else if (!silent.has(keyword)) losses.add(`${at}.${keyword}`)
  }
  // Nothing may stand beside a reference but names with a dollar.
  if (kept['$ref'] !== undefined)
    for (const keyword of Object.keys(kept)) {
      if (keyword.startsWith('$')) continue
      if (!said.has(keyword)) losses.add(`${at}.${keyword}`)
      delete kept[keyword]
    }
  // A name that is required and not described is refused.
  if (Array.isArray(kept['required'])) {
    const names = new Set<unknown>(Object.keys(isObject(kept['properties']) ? kept['properties'] : {}))
    kept['required'] = kept['required'].filter((name) => names.has(name))
  }
  return kept
}

const each = (schemas: Json, at: string, losses: Losses): Json =>
  Object.fromEntries(
    Object.entries(schemas)
      .filter(([, one]) => one !== false || lose(at, losses))
      .map(([name, one]) => [name, subset(one, at, losses)]),
  )

/** Google takes no `false` for a schema: what it forbids is left out. */
function lose(at: string, losses: Losses): false {
  losses.add(`${at}.false`)
  return false
}
