/** Checks answers against the agent's schema, because providers don't fully enforce it. */
import { z } from 'zod'
import { firstOf, goesOn, sayFault } from '#core/faults/schema-faults.ts'

/** Maximum values in a schema, counted per visit: a larger checker takes seconds to build or overflows the stack. */
const MAX_VALUES = 2_000
/** Maximum values × answer characters, so that a check takes some tens of milliseconds. */
const MAX_WORK = 2 ** 19

/** Describes the mismatch for people. Null if the answer matches or can't be checked in bounded time. */
export function mismatch(schema: Record<string, unknown>, text: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'it isn’t valid JSON'
  }
  if (valuesIn(schema, schema, [], MAX_VALUES) * text.length > MAX_WORK) return null
  const checked = checkerOf(schema)?.safeParse(value, { error: sayFault })
  const issues = checked?.error?.issues ?? []
  if (issues.length === 0) return null
  const fault = firstOf(issues)
  const field = fault.path.length === 0 ? 'the answer' : `\`${fault.path.join('.')}\``
  return fault.code === 'unrecognized_keys'
    ? `${field} has a field that isn’t in the schema: \`${fault.keys[0]}\``
    : `${field}${goesOn(fault.message)}`
}

function checkerOf(schema: Record<string, unknown>): z.ZodType | null {
  try {
    return z.fromJSONSchema(withoutPatterns(schema) as Parameters<typeof z.fromJSONSchema>[0])
  } catch {
    return null
  }
}

/** Patterns can take exponential time, and `format` is an annotation (JSON Schema 2020-12, validation 7.2). */
function withoutPatterns(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutPatterns)
  if (typeof node !== 'object' || node === null) return node
  const open = 'patternProperties' in node ? ['patternProperties', 'additionalProperties'] : []
  const omitted = new Set([
    ...open,
    'format',
    ...('pattern' in node && typeof node.pattern === 'string' ? ['pattern'] : []),
  ])
  return Object.fromEntries(
    Object.entries(node).flatMap(([name, inner]) =>
      omitted.has(name) && !(name === 'format' && typeof inner !== 'string') ? [] : [[name, withoutPatterns(inner)]],
    ),
  )
}

/**
 * Counts a schema's values with references followed. Infinity for recursive ones or above `most`: nested references can
 * expand to millions.
 */
function valuesIn(root: Record<string, unknown>, node: unknown, within: readonly string[], most: number): number {
  let values = 1
  if (typeof node !== 'object' || node === null) return values
  for (const [name, inner] of Object.entries(node)) {
    if (values > most) return Infinity
    if (name === '$ref' && typeof inner === 'string') {
      if (within.includes(inner) || within.length > 32) return Infinity
      values += valuesIn(root, targetOf(root, inner), [...within, inner], most - values)
    } else if (name !== '$defs' && name !== 'definitions') values += valuesIn(root, inner, within, most - values)
  }
  return values > most ? Infinity : values
}

const targetOf = (root: Record<string, unknown>, ref: string): unknown =>
  ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((name) => name !== '')
    .reduce<unknown>(
      (at, name) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : null,
      root,
    )
