import { type Body, mention, withField, without } from '../model/body.ts'
import type { PassthroughFormat } from './formats/format.ts'
import type { Offer } from '../model/offer.ts'
import { isEffort } from '../wire/shared/effort.ts'
import { isObject, type Json, listOf, objectOf } from '../model/json.ts'
import { inOrder } from '../wire/openai-chat/encode/order.ts'
import { effortFor, limitsOf, quirksOf } from '../wire/openai-chat/quirks.ts'
import { type ChatQuirks, limitNames } from '../wire/shared/quirks.ts'
import { quirksOwner } from '../providers/supports.ts'

export const adaptedNames = ['role', 'reasoning_effort', 'reasoning', 'effort', 'tool_calls', 'function'] as const

const quirksByOffer = new WeakMap<Offer, ChatQuirks>()

export function quirksFor(offer: Offer): ChatQuirks {
  const cached = quirksByOffer.get(offer)
  if (cached) return cached
  const quirks = quirksOf({ provider: quirksOwner(offer.endpoint), model: offer.upstreamModel })
  quirksByOffer.set(offer, quirks)
  return quirks
}

/** The limit fields of this offer; the first is sent. */
export const limitFieldsOf = (format: PassthroughFormat, offer: Offer): readonly string[] =>
  format.limitFields.length < 2 ? format.limitFields : limitsOf(quirksFor(offer), offer.capabilities)

/**
 * Where OpenAI's own format would be rejected or ignored: one name for the limit, `developer` as `system`, the nearest
 * effort, calls without arguments. Returns the same body if nothing differs.
 */
export function adaptedBody(body: Body, format: PassthroughFormat, offer: Offer): Body {
  if (format.limitFields.length < 2) return body
  const quirks = quirksFor(offer)
  return withMessages(withEffort(withLimit(body, limitFieldsOf(format, offer)), quirks), quirks)
}

/** Keeps one limit: of two, the newer name wins, as in translations. */
function withLimit(body: Body, names: readonly string[]): Body {
  const presentNames = limitNames.filter((name) => body.has(name))
  if (presentNames.length === 0) return body
  const effectiveName = presentNames.find((name) => body.value(name) !== null)
  const isSupported = effectiveName === undefined || names.includes(effectiveName)
  if (isSupported && presentNames.length < 2) return body
  const remainder = without(body, new Set(presentNames))
  return effectiveName === undefined
    ? remainder
    : withField(remainder, isSupported ? effectiveName : names[0]!, body.value(effectiveName))
}

function withEffort(body: Body, { refusesEfforts, efforts }: ChatQuirks): Body {
  if (!refusesEfforts) return body
  const word = body.value('reasoning_effort')
  const reasoning = body.value('reasoning')
  const near = (value: unknown): unknown => (isEffort(value) ? effortFor(value, efforts) : undefined)
  const isOdd = (value: unknown): boolean => typeof value === 'string' && near(value) !== value
  const adapted = isOdd(word) ? withOrWithout(body, 'reasoning_effort', near(word)) : body
  if (!isObject(reasoning) || !isOdd(reasoning['effort'])) return adapted
  const { effort, ...rest } = reasoning
  const nearEffort = near(effort)
  return withField(adapted, 'reasoning', nearEffort === undefined ? rest : { ...rest, effort: nearEffort })
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
  const orderMessages = (list: unknown[]): unknown[] => (list.every(isObject) ? inOrder(list, order) : list)
  if (!messages.some(isOdd)) {
    const orderedMessages = orderMessages(messages)
    return orderedMessages.length === messages.length && orderedMessages.every((one, i) => one === messages[i])
      ? body
      : withField(body, 'messages', orderedMessages)
  }
  const plain = messages.map((one: unknown) => {
    if (!isOdd(one)) return one
    if (one['role'] === 'developer') return { ...one, role: 'system' }
    const calls = listOf(one['tool_calls'])
    return { ...one, tool_calls: calls.map((call) => (isEmptyCall(call) ? withArguments(call) : call)) }
  })
  return withField(body, 'messages', orderMessages(plain))
}

const isEmptyCall = (call: unknown): call is Json => {
  const { function: fn } = objectOf(call)
  return isObject(fn) && /^\s*$/.test(String(fn['arguments'] ?? ''))
}

const withArguments = (call: Json): Json => ({ ...call, function: { ...objectOf(call['function']), arguments: '{}' } })
