import { type Schema, resolve } from '../../schemas.ts'

const LONGEST = 400

/** Outlines an endpoint's arguments on one line: `content: string | object[], model?: string`. */
export function outline(schema: Schema, defs: Record<string, Schema>): string {
  const { properties = {}, required = [] } = schema
  const names = Object.keys(properties).toSorted((a, b) => Number(required.includes(b)) - Number(required.includes(a)))
  const line = names
    .map((name) => `${name}${required.includes(name) ? '' : '?'}: ${typeOf(properties[name]!, defs)}`)
    .join(', ')
  return line.length > LONGEST ? `${line.slice(0, line.lastIndexOf(', ', LONGEST))}, …` : line
}

function typeOf(given: Schema, defs: Record<string, Schema>, depth = 0): string {
  const schema = resolve(given, defs)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.length <= 6 ? schema.enum.map(String).join('|') : 'string'
  const variants = schema.anyOf ?? schema.oneOf
  if (variants) return depth > 1 ? 'any' : [...new Set(variants.map((one) => typeOf(one, defs, depth + 1)))].join('|')
  const type = Array.isArray(schema.type) ? schema.type.join('|') : (schema.type ?? 'any')
  if (type !== 'array') return type
  return `${schema.items ? typeOf(schema.items, defs, depth + 1) : 'any'}[]`
}
