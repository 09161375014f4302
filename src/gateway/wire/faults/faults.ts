import type { FaultKind, UpstreamFault } from '../../model/canonical-request.ts'
import { isContextLength } from './context-words.ts'
import { isObject, isWord, type Json, listOf, objectOf, parseJson, textOf } from '../../model/json.ts'
import { shorten } from '#core/text/shorten.ts'

/** Lower-case names. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

const outOfMoney =
  /insufficient_quota|insufficient[ _](credit|fund|balance)|credit balance is too low|billing|payment required/i
/**
 * Some balance is left, but too little for this request: OpenRouter's 402 ("requires more credits, or fewer max_tokens
 * … can only afford 3242"), ElevenLabs' `quota_exceeded` ("You have 12 credits remaining, while 50 …").
 */
const affordsLess = /can only afford [1-9]|\b(?:have|has) [1-9][\d,]* (?:credits?|characters?) (?:remaining|left)/i
const unknownModel =
  /model_not_found|no such model|model identifier is invalid|DeploymentNotFound|model .{0,120}(not found|does not exist|not exist)/i

/** Something in the request doesn't exist at the vendor. */
const unknownThing =
  /thread_not_found|\b(?:thread|files?|container|item|response|conversation|vector store|skill|prompt|voice)\b[^.]{0,160}\bnot found/i

const QUOTED = /(?<!\w)'[^']*'(?!\w)|"[^"]*"|`[^`]*`/g

/** For statuses ≥ 400 and errors inside a stream (`status` null). `words` joins the body's type, code, and message. */
export function kindOf(status: number | null, words: string): FaultKind {
  // Quotations can be the client's own text, and must not count against the endpoint.
  const refusal = accountRefusalOf(status, words, words.replaceAll(QUOTED, ''))
  if (refusal !== null) return refusal
  if (status === 413) return isContextLength(words) ? 'context_length' : 'too_large'
  if (status === 429) return 'rate_limited'
  if (status === 408 || status === 504 || status === 524) return 'timeout'
  if (status === 503 || status === 529) return 'overloaded'
  // Bedrock: the model failed, not the request.
  if (status === 424) return 'server_error'
  // llama.cpp and Ollama have reported it with 500.
  if (status === 500 && isContextLength(words)) return 'context_length'
  if (status !== null && status >= 500) return 'server_error'
  if (isContextLength(words)) return 'context_length'
  if (status === 404 && unknownThing.test(words)) return 'bad_request'
  if (status === 404 || unknownModel.test(words)) return 'model_not_found'
  if (status !== null) return status >= 400 ? 'bad_request' : 'garbage'
  return kindOfWord(words) ?? 'server_error'
}

/** Refusals of the endpoint's key or account, and of the request by the vendor's policy. */
function accountRefusalOf(status: number | null, words: string, text: string): FaultKind | null {
  // Google reports invalid keys with 400, and a full quota with "check your plan and billing details". ElevenLabs
  // reports a plan without characters with 401.
  if (status === 401 && /quota_exceeded/.test(words)) return 'upstream_payment'
  if (status === 401 || /API_KEY_INVALID|API key not valid/.test(text)) return 'upstream_key'
  if (status === 429 && /RESOURCE_EXHAUSTED/.test(words)) return 'rate_limited'
  if (status === 402 || ((status === 429 || status === 400 || status === 403) && outOfMoney.test(text))) {
    return 'upstream_payment'
  }
  if (status === 403) return /moderat|flagged|policy|safety/i.test(words) ? 'bad_request' : 'upstream_key'
  return null
}

/** Such as `overloaded_error`, `rate_limit_exceeded`, `503`. */
export function kindOfWord(words: string): FaultKind | null {
  const status = /(?:^|\s)([45]\d\d)(?:\s|$)/.exec(words)
  if (status) return kindOf(Number(status[1]), words)
  if (isContextLength(words)) return 'context_length'
  if (/overloaded|unavailable|capacity/i.test(words)) return 'overloaded'
  if (/rate.?limit|too_many_requests/i.test(words)) return 'rate_limited'
  if (/time.?d?.?out|deadline/i.test(words)) return 'timeout'
  if (outOfMoney.test(words)) return 'upstream_payment'
  if (/authentication|permission|invalid_api_key/i.test(words)) return 'upstream_key'
  if (/not_found/i.test(words)) return 'model_not_found'
  if (/too_large/i.test(words)) return 'too_large'
  if (/invalid_request|bad_request/i.test(words)) return 'bad_request'
  return null
}

/** Our own messages where the provider's would reveal credentials or say nothing. */
const instead: Partial<Record<FaultKind, string>> = {
  upstream_key: 'The provider rejected the API key of this endpoint.',
  upstream_payment: 'The provider account can’t pay for this request.',
}

export function fault(
  kind: FaultKind,
  sentence: string,
  status: number | null,
  headers: AnswerHeaders = {},
): UpstreamFault {
  const message = instead[kind] ?? (shorten(withoutKeys(sentence), 2000) || 'The provider gave no reason.')
  const seconds = retryAfter(headers)
  return {
    kind,
    message,
    // `x-should-retry` is the vendors' own header. 501 and 505 mean that the server can't do this at all (RFC 9110).
    ...((headers['x-should-retry'] === 'false' || status === 501 || status === 505) && { lasts: true }),
    ...(kind === 'upstream_payment' && affordsLess.test(sentence) && { affordsLess: true }),
    ...(status !== null && { status }),
    ...(seconds !== null && { retry_after_seconds: seconds }),
  }
}

export const withoutKeys = (sentence: string): string =>
  sentence
    .replace(/\b(sk|pk|rk|gsk|xai|uk|ukm)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}/g, '[key]')
    .replace(/\bBearer\s+\S+/gi, 'Bearer [key]')

/** In seconds: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfter(headers: AnswerHeaders, now: number = Date.now()): number | null {
  const ms = Number(one(headers['retry-after-ms']) ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return ms / 1000
  const words = one(headers['retry-after'])
  if (words === undefined) return null
  const seconds = words.trim() === '' ? Number.NaN : Number(words)
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds : null
  const at = Date.parse(words)
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1000)
}

const one = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

/**
 * Accepts `{error: {…}}`, `{error: "…"}`, `{message}`, `{detail}`, a list around one of these, or plain text. HTML
 * pages of proxies are never shown.
 */
export function readFault(status: number, headers: AnswerHeaders, body: string): UpstreamFault {
  const json = parseJson(body)
  const outer = objectOf(Array.isArray(json) ? json[0] : json)
  const error = outer['error'] ?? outer
  const { words, sentence } = readError(error)
  // DashScope's messages start with `<400>`.
  const isPage = /^\s*<[a-z!?]/i.test(body)
  const plain = json === undefined && !isPage ? body.trim() : ''
  const message = sentence || plain
  const bare = `The provider returned status ${status}${isPage ? ' with an HTML page' : ''}.`
  const result = fault(kindOf(status, `${words} ${message}`), message || bare, status, {
    ...delayIn(error),
    ...headers,
  })
  return result.kind === 'bad_request' ? { ...result, ...atFault(error) } : result
}

/** Google's `RetryInfo` has delays such as `34s`. */
function delayIn(error: unknown): AnswerHeaders {
  const delay = listOf(objectOf(error)['details'])
    .map((detail) => /^([\d.]+)s$/.exec(textOf(objectOf(detail)['retryDelay']))?.[1])
    .find((seconds) => seconds !== undefined)
  return delay === undefined ? {} : { 'retry-after': delay }
}

const MAX_DETAILS = 2_000

/** Only of rejected requests: for other faults they would mean nothing to a caller. */
function atFault(error: unknown): Pick<UpstreamFault, 'code' | 'param' | 'details'> {
  const { code: own, param, details } = objectOf(error)
  // Anthropic's code is nested deeper, with what its SDK needs to continue.
  const code = own ?? objectOf(details)['error_code']
  const isShort = isObject(details) && JSON.stringify(details).length <= MAX_DETAILS
  return {
    ...(typeof code === 'string' && code !== '' && { code: shorten(code, 100) }),
    ...(isShort && { details }),
    ...(typeof param === 'string' && { param: shorten(param, 200) }),
  }
}

/** A numeric code counts as the status. */
export function readStreamFault(error: unknown): UpstreamFault {
  const { words, sentence, status } = readError(error)
  return fault(kindOf(status, `${words} ${sentence}`), sentence || 'The provider aborted the response.', status)
}

function readError(error: unknown): { words: string; sentence: string; status: number | null } {
  if (typeof error === 'string') return { words: '', sentence: error, status: null }
  const inner: Json = objectOf(error)
  const words = [
    // Media vendors: Deepgram `err_code`, Stability `name`, ElevenLabs `detail.status`, fal `detail[].type`.
    inner['err_code'],
    inner['name'],
    objectOf(inner['detail'])['status'],
    ...listOf(inner['detail']).map((one) => objectOf(one)['type']),
    inner['type'],
    inner['code'],
    objectOf(inner['details'])['error_code'],
    inner['status'],
    objectOf(inner['metadata'])['error_type'],
  ]
    .filter((word) => typeof word === 'string' || typeof word === 'number')
    .join(' ')
  const detail = isObject(inner['detail']) ? textOf(inner['detail']['message']) : textOf(inner['detail'])
  const several = [...listOf(inner['errors']).map(textOf), ...listOf(inner['detail']).map(complaintOf)].filter(isWord)
  const code = [inner['code'], inner['status']].map(Number).find((n) => Number.isInteger(n) && n >= 400 && n < 600)
  const sentence = textOf(inner['message']) || detail || textOf(inner['err_msg']) || several.join('; ')
  return { words, sentence, status: code ?? null }
}

function complaintOf(one: unknown): string {
  const { loc, msg } = objectOf(one)
  const place = listOf(loc).filter((step) => step !== 'body')
  return place.length === 0 ? textOf(msg) : `${place.join('.')}: ${textOf(msg)}`
}
