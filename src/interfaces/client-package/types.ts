import type { Schema } from '../schemas.ts'

/** Converts a schema to a TypeScript type. */
export function typeOf(schema: Schema): string {
  const { $ref, type, anyOf, oneOf, allOf, items, properties, additionalProperties, contentMediaType } = schema
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1)
  if (contentMediaType !== undefined && type === undefined) return 'Bytes'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return unionOf(schema.enum.map((word) => JSON.stringify(word)))
  const choices = anyOf ?? oneOf
  if (choices) return unionOf(choices.map(typeOf))
  if (allOf) return allOf.map((one) => grouped(typeOf(one))).join(' & ')
  if (Array.isArray(type)) return unionOf(type.map((one) => typeOf({ ...schema, type: one })))
  switch (type) {
    case 'array':
      return `${grouped(items ? typeOf(items) : 'unknown')}[]`
    case 'object':
      if (properties) return fieldsOf(schema)
      return `Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties as Schema) : 'unknown'}>`
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    default:
      return 'unknown'
  }
}

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ')
const grouped = (type: string): string => (/ [|&] /.test(type) ? `(${type})` : type)

/** An object's fields with their descriptions. */
export function fieldsOf({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, field]) =>
      `${comment([field.description, ...defaultOf(field)])}${named(name)}${required.includes(name) ? '' : '?'}: ${typeOf(field)}`,
  )
  return fields.length === 0 ? '{}' : `{\n${indent(fields.join('\n'))}\n}`
}

const named = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name))

const defaultOf = ({ default: fallback }: Schema): string[] =>
  fallback === undefined || fallback === null ? [] : [`Default: \`${JSON.stringify(fallback)}\`.`]

export const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ')

/** A doc comment with a line break; empty without paragraphs. */
export function comment(paragraphs: readonly (string | undefined)[]): string {
  const text = paragraphs.filter(Boolean).join('\n\n').replaceAll('*/', '* /')
  if (text === '') return ''
  const lines = text.split('\n').map((line) => ` * ${line}`.trimEnd())
  return lines.length === 1 ? `/**${lines[0]!.slice(2)} */\n` : `/**\n${lines.join('\n')}\n */\n`
}
