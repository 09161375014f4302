import { newId } from '#core/ids.ts'
import type { Shape } from '../model/offer.ts'
import { isObject, type Json, listOf, objectOf, parseJson, textOf } from '../model/json.ts'
import type { Redraft } from './redraft.ts'

interface CallId {
  key: string
  holder: Json
  field: 'id' | 'call_id'
}

interface Calls {
  word: string
  in(json: Json): CallId[]
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

const item = (index: unknown, holder: unknown): CallId[] =>
  isObject(holder) && textOf(holder['type']).endsWith('_call') ? [{ key: String(index), holder, field: 'call_id' }] : []
const responses: Calls = {
  word: '"call_id"',
  in: (json) => [
    ...item(json['output_index'], json['item']),
    ...listOf(objectOf(json['response'])['output'] ?? json['output']).flatMap((one, i) => item(i, one)),
  ],
}

const block = (index: unknown, holder: unknown): CallId[] =>
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
 * Model servers of every shape count from 0 in every answer, and clients pair calls with results by ID alone.
 * `request`: the client's body with the IDs of the conversation. Answers without a repeated ID stay byte for byte the
 * same.
 */
export function uniqueCalls(shape: Shape, request: Buffer): Redraft | null {
  const calls = byShape[shape]
  if (calls === undefined) return null
  const names = new Map<string, { given: string; told: string }>()
  const usedIds = new Set<string>()

  function uniqueId(key: string, ownId: string): string {
    const existing = names.get(key)
    if (existing?.given === ownId) return existing.told
    const name = usedIds.has(ownId) || request.includes(JSON.stringify(ownId)) ? `call_${newId()}` : ownId
    usedIds.add(name)
    names.set(key, { given: ownId, told: name })
    return name
  }

  function renameIds(text: string): string {
    if (!text.includes(calls!.word)) return text
    const json = parseJson(text)
    if (!isObject(json)) return text
    let same = true
    for (const { key, holder, field } of calls!.in(json)) {
      const ownId = textOf(holder[field])
      if (ownId === '') continue
      const name = uniqueId(key, ownId)
      if (name === ownId) continue
      holder[field] = name
      same = false
    }
    return same ? text : JSON.stringify(json)
  }

  return {
    events(events) {
      if (!events.includes(calls.word)) return events
      const text = events.toString()
      const output = text.replaceAll(DATA, (line, data: string) => {
        const name = renameIds(data)
        return name === data ? line : `data: ${name}`
      })
      return output === text ? events : Buffer.from(output)
    },
    whole(answer) {
      if (!answer.includes(calls.word)) return answer
      const text = answer.toString()
      const output = renameIds(text)
      return output === text ? answer : Buffer.from(output)
    },
  }
}

const DATA = /^data:([^\n]*)$/gm
