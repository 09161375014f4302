import type { CanonicalRequest, CanonicalMessage, CanonicalPart } from '../../model/canonical-request.ts'
import { signsCall } from '../parts/gemini-signature.ts'

type Result = Extract<CanonicalPart, { type: 'tool_result' }>
type Call = Extract<CanonicalPart, { type: 'tool_call' }>

/**
 * Vendors require results directly after the message with the calls, one per call and no others. A result without a
 * call becomes user text, and a call without a result gets one that says so. Calls that end the conversation stay
 * without results.
 */
export function pairToolResults(messages: CanonicalMessage[]): CanonicalMessage[] {
  const output: CanonicalMessage[] = []
  const ids = new CallIds()
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'tool') {
      output.push({ role: 'user', content: message.content.flatMap(orphanAsText) })
      continue
    }
    const calls = message.content.filter((part) => part.type === 'tool_call')
    if (message.role !== 'assistant' || calls.length === 0) {
      output.push(message)
      continue
    }
    const unique = calls.map(({ id }) => ids.unique(id))
    output.push(withIds(message, calls, unique))
    const answering: CanonicalMessage[] = []
    while (messages[at + 1]?.role === 'tool') answering.push(messages[++at]!)
    const given = answering.flatMap(({ content }) => content)
    if (given.length === 0 && at + 1 === messages.length) continue
    const results = resultsById(given)
    const pairedParts = new Set<CanonicalPart>()
    const answers = calls.map((call, i) => {
      const result = results.get(call.id)?.next().value
      if (result === undefined) return missingResult(unique[i]!)
      pairedParts.add(result)
      return result.id === unique[i] ? result : { ...result, id: unique[i]! }
    })
    output.push({ role: 'tool', content: answers })
    const others = given.filter((part) => !pairedParts.has(part))
    if (others.length > 0) output.push({ role: 'user', content: others.flatMap(orphanAsText) })
  }
  return output
}

/** The first result belongs to the first call with this ID. */
function resultsById(parts: readonly CanonicalPart[]): Map<string, Iterator<Result, undefined>> {
  const lists = new Map<string, Result[]>()
  for (const part of parts)
    if (part.type === 'tool_result') {
      const list = lists.get(part.id)
      if (list === undefined) lists.set(part.id, [part])
      else list.push(part)
    }
  return new Map([...lists].map(([id, list]) => [id, list.values() as Iterator<Result, undefined>]))
}

/**
 * Vendors require unique IDs, but some model servers count from 0 in every response. The number added depends on
 * earlier messages only, so cached prefixes stay valid.
 */
class CallIds {
  readonly #taken = new Set<string>()
  readonly #counts = new Map<string, number>()

  unique(id: string): string {
    let unique = id
    for (let count = this.#counts.get(id) ?? 1; this.#taken.has(unique); this.#counts.set(id, count))
      unique = `${id}_${++count}`
    this.#taken.add(unique)
    return unique
  }
}

function withIds(message: CanonicalMessage, calls: readonly Call[], unique: readonly string[]): CanonicalMessage {
  if (calls.every(({ id }, i) => id === unique[i])) return message
  const places = new Map<string, { ids: string[]; signed: number }>()
  calls.forEach(({ id }, i) => {
    const place = places.get(id)
    if (place === undefined) places.set(id, { ids: [unique[i]!], signed: 0 })
    else place.ids.push(unique[i]!)
  })
  let next = 0
  const content = message.content.map((part): CanonicalPart => {
    if (part.type === 'tool_call') return { ...part, id: unique[next++]! }
    const place = part.type === 'reasoning' && signsCall(part) ? places.get(part.id!) : undefined
    return place === undefined ? part : ({ ...part, id: place.ids[place.signed++] ?? place.ids[0]! } as CanonicalPart)
  })
  return { ...message, content }
}

const missingResult = (id: string): Result => ({
  type: 'tool_result',
  id,
  content: [{ type: 'text', text: 'This call was not made.' }],
  is_error: true,
})

const orphanAsText = (part: CanonicalPart): CanonicalPart[] =>
  part.type === 'tool_result'
    ? [{ type: 'text', text: `Result of the earlier tool call ${part.id}:` }, ...part.content]
    : [part]

/** Vendors require definitions for all calls in the history. */
export function toolsWithHistory({ tools = [], messages }: CanonicalRequest): NonNullable<CanonicalRequest['tools']> {
  const usedNames = new Set(
    messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_call' ? [part.name] : []))),
  )
  if (usedNames.size === 0 || tools.length > 0) return tools
  return [...usedNames].map((name) => ({ name, parameters: { type: 'object', properties: {} } }))
}
