import { type Body, mention, withField, without } from '../model/body.ts'
import type { PassthroughFormat } from './formats/format.ts'
import type { Offer } from '../model/offer.ts'
import { isEffort } from '../wire/shared/effort.ts'
import { isObject, type Json, listOf, objectOf } from '../model/json.ts'
import { inOrder } from '../wire/openai-chat/encode/order.ts'
import { effortFor, limitsOf, quirksOf } from '../wire/openai-chat/quirks.ts'
import { type ChatQuirks, limitNames } from '../wire/shared/quirks.ts'
import { quirksOwner } from '../providers/supports.ts'

/** Fields rewritten for some providers. */
export const adaptedNames = ['role', 'reasoning_effort', 'reasoning', 'effort', 'tool_calls', 'function'] as const

const known = new WeakMap<Offer, ChatQuirks>()

/** The differences of this offer's vendor from OpenAI's chat. */
export function quirksFor(offer: Offer): ChatQuirks {
  const found = known.get(offer)
  if (found) return found
  const quirks = quirksOf({ provider: quirksOwner(offer.endpoint), model: offer.upstreamModel })
  known.set(offer, quirks)
  return quirks
}

/** The fields that bound an answer of this offer's, the one that it is told by first. */
export const limitFieldsOf = (format: PassthroughFormat, offer: Offer): readonly string[] =>
  format.limitFields.length < 2 ? format.limitFields : limitsOf(quirksFor(offer), offer.capabilities)

/**
 * A client's request of OpenAI's shape as this offer's vendor reads it, where OpenAI's own words would be refused there or
 * read over: a limit by one name alone, `developer` as `system`, the nearest effort, calls without arguments. The same
 * body where nothing has to differ.
 */
export function adaptedBody(body: Body, format: PassthroughFormat, offer: Offer): Body {
  if (format.limitFields.length < 2) return body
  const quirks = quirksFor(offer)
  return withMessages(withEffort(withLimit(body, limitFieldsOf(format, offer)), quirks), quirks)
}

/** Sets one limit: of two the newer name holds, as it does where a request is translated. */
function withLimit(body: Body, names: readonly string[]): Body {
  const given = limitNames.filter((name) => body.has(name))
  if (given.length === 0) return body
  const told = given.find((name) => body.value(name) !== null)
  const kept = told === undefined || names.includes(told)
  if (kept && given.length < 2) return body
  const left = without(body, new Set(given))
  return told === undefined ? left : withField(left, kept ? told : names[0]!, body.value(told))
}

function withEffort(body: Body, { refusesEfforts, efforts }: ChatQuirks): Body {
  if (!refusesEfforts) return body
  const word = body.value('reasoning_effort')
  const reasoning = body.value('reasoning')
  const near = (wanted: unknown): unknown => (isEffort(wanted) ? effortFor(wanted, efforts) : undefined)
  const isOdd = (wanted: unknown): boolean => typeof wanted === 'string' && near(wanted) !== wanted
  const told = isOdd(word) ? withOrWithout(body, 'reasoning_effort', near(word)) : body
  if (!isObject(reasoning) || !isOdd(reasoning['effort'])) return told
  const { effort, ...rest } = reasoning
  const heard = near(effort)
  return withField(told, 'reasoning', heard === undefined ? rest : { ...rest, effort: heard })
}

const withOrWithout = (body: Body, key: string, value: unknown): Body =>
  value === undefined ? without(body, new Set([key])) : withField(body, key, value)

function withMessages(body: Body, { developer, refusesEmptyCalls, order }: ChatQuirks): Body {
  if (order === null && !refusesEmptyCalls && (developer || !body.mentions(mention.developer))) return body
  const messages = body.value('messages')
  if (!Array.isArray(messages)) return body
  const isOdd = (one: unknown): one is Json =>
    isObject(one) &&
    ((!developer && one['role'] === 'developer') || (refusesEmptyCalls && listOf(one['tool_calls']).some(isEmptyCall)))
  const ordered = (given: unknown[]): unknown[] => (given.every(isObject) ? inOrder(given, order) : given)
  if (!messages.some(isOdd)) {
    const put = ordered(messages)
    return put.length === messages.length && put.every((one, i) => one === messages[i])
      ? body
      : withField(body, 'messages', put)
  }
  const plain = messages.map((one: unknown) => {
    if (!isOdd(one)) return one
    if (one['role'] === 'developer') return { ...one, role: 'system' }
    const calls = listOf(one['tool_calls'])
    return { ...one, tool_calls: calls.map((call) => (isEmptyCall(call) ? withArguments(call) : call)) }
  })
  return withField(body, 'messages', ordered(plain))
}

const isEmptyCall = (call: unknown): call is Json => {
  const { function: called } = objectOf(call)
  return isObject(called) && /^\s*$/.test(String(called['arguments'] ?? ''))
}

const withArguments = (call: Json): Json => ({ ...call, function: { ...objectOf(call['function']), arguments: '{}' } })
