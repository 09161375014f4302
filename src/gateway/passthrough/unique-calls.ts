import { newId } from '#core/ids.ts'
import type { Shape } from '../model/offer.ts'
import { isObject, type Json, listOf, objectOf, parseJson, textOf } from '../model/json.ts'
import type { Redraft } from './redraft.ts'

/** A call in an answer: which one it is, and the field that holds its ID. */
interface Found {
  key: string
  holder: Json
  field: 'id' | 'call_id'
}

interface Calls {
  /** Answers and events without it hold no call's ID. */
  word: string
  /** The calls in an answer or in one event. */
  in(json: Json): Found[]
}

const chat: Calls = {
  word: '"tool_calls"',
  in: (json) =>
    listOf(json['choices'])
      .map(objectOf)
      .flatMap((choice, place) =>
        listOf(objectOf(choice['delta'] ?? choice['message'])['tool_calls'])
          .filter(isObject)
          .map((holder, i) => ({
            key: `${String(choice['index'] ?? place)} ${String(holder['index'] ?? i)}`,
            holder,
            field: 'id' as const,
          })),
      ),
}

const item = (index: unknown, holder: unknown): Found[] =>
  isObject(holder) && textOf(holder['type']).endsWith('_call') ? [{ key: String(index), holder, field: 'call_id' }] : []
const responses: Calls = {
  word: '"call_id"',
  in: (json) => [
    ...item(json['output_index'], json['item']),
    ...listOf(objectOf(json['response'])['output'] ?? json['output']).flatMap((one, i) => item(i, one)),
  ],
}

const block = (index: unknown, holder: unknown): Found[] =>
  isObject(holder) && holder['type'] === 'tool_use' ? [{ key: String(index), holder, field: 'id' }] : []
const messages: Calls = {
  word: '"tool_use"',
  in: (json) => [
    ...block(json['index'], json['content_block']),
    ...listOf(json['content']).flatMap((one, i) => block(i, one)),
  ],
}

const byShape: Partial<Record<Shape, Calls>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
}

/**
 * Gives calls of an answer that passes as it is an ID that its conversation has not used yet: model servers of every shape
 * count from 0 in every answer, and clients pair calls with results by their IDs alone. `request`: the client's body, in
 * which the IDs of the conversation stand. Answers without a repeated ID keep every byte.
 */
export function uniqueCalls(shape: Shape, request: Buffer): Redraft | null {
  const calls = byShape[shape]
  if (calls === undefined) return null
  const names = new Map<string, { given: string; told: string }>()
  const taken = new Set<string>()

  function told(key: string, given: string): string {
    const known = names.get(key)
    if (known?.given === given) return known.told
    const name = taken.has(given) || request.includes(JSON.stringify(given)) ? `call_${newId()}` : given
    taken.add(name)
    names.set(key, { given, told: name })
    return name
  }

  /** The same text where nothing changes. */
  function renamed(text: string): string {
    if (!text.includes(calls!.word)) return text
    const json = parseJson(text)
    if (!isObject(json)) return text
    let same = true
    for (const { key, holder, field } of calls!.in(json)) {
      const given = textOf(holder[field])
      if (given === '') continue
      const name = told(key, given)
      if (name === given) continue
      holder[field] = name
      same = false
    }
    return same ? text : JSON.stringify(json)
  }

  return {
    events(events) {
      if (!events.includes(calls.word)) return events
      const text = events.toString()
      const said = text.replaceAll(DATA, (line, data: string) => {
        const name = renamed(data)
        return name === data ? line : `data: ${name}`
      })
      return said === text ? events : Buffer.from(said)
    },
    whole(answer) {
      if (!answer.includes(calls.word)) return answer
      const text = answer.toString()
      const said = renamed(text)
      return said === text ? answer : Buffer.from(said)
    },
  }
}

const DATA = /^data:([^\n]*)$/gm
