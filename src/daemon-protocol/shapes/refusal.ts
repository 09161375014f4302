import { type Code, Refusal } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * The codes a peer may send, about the computer and the request. Authentication, payment, permission and connection
 * errors come from the server only.
 */
export const SAID: ReadonlySet<string> = new Set<Code>([
  'already_exists',
  'capability_denied',
  'checksum_mismatch',
  'concurrency_limited',
  'context_length_exceeded',
  'engine_not_ready',
  'internal_error',
  'interrupted',
  'invalid_cursor',
  'invalid_parameter',
  'invalid_state',
  'limit_reached',
  'malformed_json',
  'not_found',
  'not_ready',
  'not_supported',
  'payload_too_large',
  'policy_denied',
  'range_not_satisfiable',
  'shutting_down',
  'stale_update',
  'storage_full',
  'timeout',
  'unavailable',
  'unsupported_model',
  'upstream_error',
])

const LONGEST_TEXT = 1_000
const LONGEST_PARAM = 200
const LARGEST_DETAILS = 4_096

/** Serializes a refusal. Other errors reveal nothing. */
export function refusalJson(error: unknown): object {
  const { code, message, param, details } = error instanceof Refusal ? error : new Refusal('internal_error')
  return { code, message, param, details }
}

/** Parses a peer's error. It may contain anything, and is shown to callers and stored in the database. */
export function readRefusal({ code, message, param, details }: Record<string, unknown>): Refusal {
  const flat = flatIn(details)
  return new Refusal(SAID.has(String(code)) ? (code as Code) : 'upstream_error', {
    ...(typeof message === 'string' && { message: plain(message, LONGEST_TEXT) }),
    ...(typeof param === 'string' && { param: plain(param, LONGEST_PARAM) }),
    ...(flat !== null && { details: flat }),
  })
}

/** Returns details that consist of values and lists of texts. Null if they contain anything else or too much. */
function flatIn(details: unknown): Record<string, unknown> | null {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return null
  const entries = Object.entries(details)
  if (!entries.every(([, value]) => isValue(value) || isTexts(value))) return null
  const flat = Object.fromEntries(entries.map(([name, value]) => [plain(name, 64), cleaned(value)]))
  return Buffer.byteLength(JSON.stringify(flat)) > LARGEST_DETAILS ? null : flat
}

const isValue = (value: unknown): boolean => value === null || ['string', 'number', 'boolean'].includes(typeof value)
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === 'string')

const cleaned = (value: unknown): unknown =>
  typeof value === 'string'
    ? plain(value, LONGEST_TEXT)
    : Array.isArray(value)
      ? value.map((one: string) => plain(one, LONGEST_TEXT))
      : value

/** Text PostgreSQL can store: no U+0000, no lone surrogates. */
const plain = (text: string, most: number): string => shorten(text, most).replaceAll('\0', '').toWellFormed()
