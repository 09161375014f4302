// A small checker of request bodies. It finds the first error, which each vendor words.
import type { Json } from './vendor.ts'

export type Kind = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'

export type Rule = {
  kind: Kind | Kind[]
  required?: boolean
  nullable?: boolean
  values?: readonly string[]
  min?: number
  max?: number
  /** For arrays. */
  items?: Rule
  minItems?: number
  maxItems?: number
  /** For objects; `closed` allows no others. */
  fields?: Record<string, Rule>
  closed?: boolean
  pattern?: RegExp
  /** For unions: the rule for this value. */
  pick?: (value: Json) => Rule | undefined
}

export type Path = (string | number)[]

export type Fault = {
  kind: 'missing' | 'type' | 'value' | 'range' | 'length' | 'pattern' | 'unknown'
  path: Path
  rule: Rule
  value: unknown
}

export function check(rule: Rule, value: unknown, path: Path = []): Fault | undefined {
  const fault = (kind: Fault['kind']): Fault => ({ kind, path, rule, value })
  if (value === undefined) return rule.required ? fault('missing') : undefined
  if (value === null && rule.nullable) return undefined
  const kinds = Array.isArray(rule.kind) ? rule.kind : [rule.kind]
  if (!kinds.some((kind) => isA(kind, value))) return fault('type')
  if (typeof value === 'string') {
    if (rule.values && !rule.values.includes(value)) return fault('value')
    return rule.pattern && !rule.pattern.test(value) ? fault('pattern') : undefined
  }
  if (typeof value === 'number') {
    return value < (rule.min ?? -Infinity) || value > (rule.max ?? Infinity) ? fault('range') : undefined
  }
  if (Array.isArray(value)) {
    if (value.length < (rule.minItems ?? 0) || value.length > (rule.maxItems ?? Infinity)) return fault('length')
    return first(value.entries(), ([index, item]) => rule.items && check(rule.items, item, [...path, index]))
  }
  return typeof value === 'object' ? checkFields(rule, value as Json, path) : undefined
}

function checkFields(rule: Rule, value: Json, path: Path): Fault | undefined {
  const pickedRule = rule.pick?.(value)
  if (pickedRule) return check(pickedRule, value, path)
  const fields = rule.fields ?? {}
  const fieldFault = first(Object.entries(fields), ([name, inner]) => check(inner, value[name], [...path, name]))
  if (fieldFault || !rule.closed) return fieldFault
  const extra = Object.keys(value).find((name) => !(name in fields))
  return extra === undefined ? undefined : { kind: 'unknown', path: [...path, extra], rule, value: value[extra] }
}

function first<T, R>(items: Iterable<T>, look: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const itemFault = look(item)
    if (itemFault !== undefined) return itemFault
  }
  return undefined
}

function isA(kind: Kind, value: unknown): boolean {
  if (kind === 'array') return Array.isArray(value)
  if (kind === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (kind === 'integer') return Number.isInteger(value)
  return typeof value === kind
}

/** The JSON name of a value's type. */
export function nameOf(value: unknown): Kind | 'null' {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : (typeof value as Kind)
}
