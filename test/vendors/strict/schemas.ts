// Checks a schema against JSON Schema 2020-12, and against a vendor's documented limits for its root.
import type { Json } from '../vendor.ts'

export type SchemaRule = {
  /** Keywords that the root may not have. */
  refused?: readonly string[]
  /** The only keywords of the root. */
  only?: readonly string[]
  /** The only keywords anywhere. */
  keywords?: readonly string[]
  /** Names of the root's properties. */
  names?: RegExp
  /** `true` and `false` are no schemas except in `additionalProperties`. */
  noBooleans?: boolean
  /** Only names with a dollar sign may be beside a `$ref`. */
  loneReferences?: boolean
}

const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const maps = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas']
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const single = ['items', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties']

export function schemaFault(schema: Json, rule: SchemaRule): string | null {
  const names = Object.keys(schema)
  if (schema['type'] !== 'object') return 'input_schema.type: must be object'
  const refusedKeyword = names.find(
    (name) => rule.refused?.includes(name) ?? (rule.only !== undefined && !rule.only.includes(name)),
  )
  if (refusedKeyword !== undefined) return `input_schema does not support ${refusedKeyword} at the top level`
  const properties = Object.keys((schema['properties'] ?? {}) as Json)
  const odd = properties.find((name) => rule.names !== undefined && !rule.names.test(name))
  if (odd !== undefined) return `Property keys should match pattern ${String(rule.names)}: ${odd}`
  return inner(schema, rule, schema, '')
}

function inner(schema: unknown, rule: SchemaRule, root: Json, path: string): string | null {
  if (typeof schema === 'boolean') return null
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return `${path}: is no schema`
  const own = schema as Json
  const fault = keywordsFault(own, rule, root, path)
  if (fault !== null) return fault
  for (const [name, value] of Object.entries(own)) {
    const parts = maps.includes(name)
      ? Object.values(value as Json)
      : lists.includes(name)
        ? (value as Json[])
        : single.includes(name)
          ? [value]
          : []
    for (const part of parts) {
      if (rule.noBooleans && typeof part === 'boolean' && name !== 'additionalProperties')
        return `${path}.${name}: ${part} is no schema`
      const innerFault = inner(part, rule, root, `${path}.${name}`)
      if (innerFault !== null) return innerFault
    }
  }
  return null
}

function keywordsFault(schema: Json, rule: SchemaRule, root: Json, path: string): string | null {
  const { type, required: requiredNames, $ref: reference } = schema
  const unknown = Object.keys(schema).find((name) => rule.keywords !== undefined && !rule.keywords.includes(name))
  if (unknown !== undefined) return `${path}: Unknown name "${unknown}"`
  if (type !== undefined && ![type].flat().every((one) => types.includes(one)))
    return `${path}.type: ${JSON.stringify(type)}`
  if ([type].flat().includes('array') && schema['items'] === undefined && schema['prefixItems'] === undefined)
    return `${path}: array schema missing items`
  if (
    requiredNames !== undefined &&
    !(Array.isArray(requiredNames) && requiredNames.every((one) => typeof one === 'string'))
  )
    return `${path}.required: must be a list of names`
  if (new Set(requiredNames).size !== (requiredNames?.length ?? 0)) return `${path}.required: has a name twice`
  for (const name of ['exclusiveMinimum', 'exclusiveMaximum'])
    if (schema[name] !== undefined && typeof schema[name] !== 'number') return `${path}.${name}: must be a number`
  for (const name of lists)
    if (schema[name] !== undefined && !(Array.isArray(schema[name]) && schema[name].length > 0))
      return `${path}.${name}: must be a list`
  if (schema['items'] !== undefined && Array.isArray(schema['items'])) return `${path}.items: must be a schema`
  if (reference === undefined) return null
  if (rule.loneReferences && Object.keys(schema).some((name) => !name.startsWith('$')))
    return `${path}: $ref stands alone`
  return reaches(String(reference), root) ? null : `${path}: ${String(reference)} leads nowhere`
}

function reaches(reference: string, root: Json): boolean {
  let at: unknown = root
  for (const step of reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((one) => one !== ''))
    at = (at as Json | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  return reference.startsWith('#') && at !== undefined
}
