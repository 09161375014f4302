/** Describes why a schema refuses a value. The schema library's own messages are never shown. */
import type { z } from 'zod'

type Fault = z.core.$ZodIssue
type Raw = z.core.$ZodRawIssue

const NAMED = 10

/** Continues a sentence that starts with the field name. Custom contract messages are kept. */
export function sayFault(fault: Raw): string {
  switch (fault.code) {
    case 'invalid_type':
      return `must be ${things[fault.expected] ?? fault.expected}${butGiven(fault.input, fault.expected)}`
    case 'too_small':
      return bound(fault, fault.inclusive ? 'at least' : 'more than', fault.minimum)
    case 'too_big':
      return bound(fault, fault.inclusive ? 'at most' : 'less than', fault.maximum)
    case 'invalid_value':
      return `must be ${sayValues(fault.values)}`
    case 'invalid_format':
      return sayFormat(fault)
    case 'not_multiple_of':
      return `must be a multiple of ${fault.divisor}`
    case 'unrecognized_keys':
      return `has unknown fields: ${fault.keys.slice(0, NAMED).join(', ')}`
    case 'invalid_key':
      return fault.issues[0]?.message ?? 'is not valid'
    case 'invalid_union':
      return sayForms(fault)
    default:
      return 'is not valid'
  }
}

export const firstOf = (faults: readonly Fault[]): Fault =>
  closest(faults.find(({ code }) => code === 'unrecognized_keys') ?? faults[0]!)

/** Picks the union's form that matched furthest: the one with the deepest fault. */
function closest(fault: Fault): Fault {
  if (fault.code !== 'invalid_union' || fault.errors.length === 0) return fault
  const deepest = fault.errors.map(firstOf).reduce((best, one) => (one.path.length > best.path.length ? one : best))
  return deepest.path.length === 0 ? fault : { ...deepest, path: [...fault.path, ...deepest.path] }
}

const things: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
}

/**
 * Adds the actual type if it helps: `1.5` is a number where an integer is required, and query values are always text.
 */
function butGiven(value: unknown, expected: string): string {
  if (value === undefined || (typeof value === 'number' && (expected === 'int' || expected === 'number'))) return ''
  if (value === null) return ', not null'
  if (typeof value === 'boolean') return `, not ${value}`
  return `, not ${things[Array.isArray(value) ? 'array' : typeof value] ?? typeof value}`
}

const units: Record<string, string> = { string: 'character', array: 'item' }

function bound({ origin, exact }: { origin: string; exact?: boolean | undefined }, side: string, by: number | bigint) {
  const words = `${exact ? 'exactly' : side} ${by}`
  const unit = units[origin]
  return unit === undefined ? `must be ${words}` : `must have ${words} ${unit}${by === 1 || by === 1n ? '' : 's'}`
}

const sayValues = (values: readonly unknown[]): string =>
  `${values.length === 1 ? '' : 'one of '}${values.map(String).join(', ')}`

const formats: Record<string, string> = {
  email: 'an email address',
  url: 'a URL such as https://example.com/',
  uuid: 'a UUID',
  date: 'a date such as 2026-11-22',
  datetime: 'a time such as 2026-11-22T09:30:00Z',
  time: 'a time of day such as 09:30:00',
  duration: 'a duration such as PT15M',
  base64: 'base64',
  base64url: 'base64url',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
}

function sayFormat(fault: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidStringFormat>): string {
  const { prefix, suffix, includes } = fault as { prefix?: string; suffix?: string; includes?: string }
  switch (fault.format) {
    case 'regex':
      return `must match ${fault.pattern}`
    case 'starts_with':
      return `must start with ${prefix}`
    case 'ends_with':
      return `must end with ${suffix}`
    case 'includes':
      return `must contain ${includes}`
    default:
      return `must be ${formats[fault.format] ?? `a valid ${fault.format}`}`
  }
}

/** If the value has the right type for one form, reports that form's fault; otherwise lists all forms. */
function sayForms(fault: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  const { options } = fault as { options?: readonly unknown[] }
  if (options !== undefined) return `must be ${sayValues(options)}`
  const forms = fault.errors.map(firstOf)
  const near = forms.find(({ code }) => code !== 'invalid_type' && code !== 'invalid_value')
  if (near) return near.message
  const all = forms.flatMap((form) =>
    form.code === 'invalid_type'
      ? (things[form.expected] ?? form.expected)
      : form.code === 'invalid_value'
        ? form.values.map(String)
        : [],
  )
  if (all.length === 0) return 'is not valid'
  return `must be ${[...new Set(all)].join(' or ')}${butGiven(fault.input, '')}`
}

/** `must be …` continues the field name; any other text follows a colon. */
export const goesOn = (words: string): string => (/^(must|may|has|is) /.test(words) ? ` ${words}` : `: ${words}`)
