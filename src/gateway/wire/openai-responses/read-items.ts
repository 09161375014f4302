import { shorten } from '#core/text/shorten.ts'
import { newId } from '#core/ids.ts'
import type { Chunk, UpstreamFault } from '../../model/canonical-request.ts'
import { fault, kindOf } from '../faults/faults.ts'
import { readUrlCitation } from '../shared/citations.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { lostPart } from '../parts/lost-parts.ts'
import { magicType } from '../shared/media.ts'
import { WholeText } from '../streams/whole-text.ts'
import { readReasoning, thoughtsOf } from './sealed.ts'
import { wrapText } from './tools.ts'
import { readUsage } from './usage.ts'

interface Item {
  type: string
  said: string
  whole: WholeText
  id: string
  done: boolean
}

/**
 * Reads stream events or a whole answer (as items that complete at once). From a completed item only the remainder is
 * read, so streamed text never repeats.
 */
export class ItemReader {
  readonly #items = new Map<number, Item>()
  readonly #ids = new Set<string>()
  #started = false
  #called = false
  #refused = false
  #spoke = false
  #cited = 0

  start(response: Json): Chunk[] {
    if (this.#started) return []
    this.#started = true
    return [{ type: 'start', id: textOf(response['id']), model: textOf(response['model']) }]
  }

  added(index: number, item: Json): Chunk[] {
    if (this.#items.has(index)) return []
    const type = textOf(item['type'])
    const one: Item = { type, said: '', whole: new WholeText(), id: '', done: false }
    this.#items.set(index, one)
    const chunks = this.start({})
    if (type !== 'function_call' && type !== 'custom_tool_call') {
      if (type !== '' && !OWN.has(type)) chunks.push(lostPart(type))
      return chunks
    }
    this.#called = this.#spoke = true
    // Some providers send no ID, or the same one twice.
    const ownId = textOf(item['call_id']) || textOf(item['id'])
    one.id = ownId === '' || this.#ids.has(ownId) ? `call_${newId()}` : ownId
    this.#ids.add(one.id)
    chunks.push({ type: 'tool_call_start', id: one.id, name: textOf(item['name']) })
    return chunks
  }

  text(index: number, delta: string, refusal = false): Chunk[] {
    this.#refused ||= refusal
    return this.#say(this.#open(index, 'message'), delta)
  }

  thought(index: number, delta: string): Chunk[] {
    return this.#say(this.#open(index, 'reasoning'), delta)
  }

  paragraph(index: number): Chunk[] {
    const item = this.#open(index, 'reasoning')
    return item.said === '' ? [] : this.#say(item, '\n\n')
  }

  call(index: number, delta: string): Chunk[] {
    const item = this.#items.get(index)
    return item === undefined ? [] : this.#say(item, delta)
  }

  done(index: number, item: Json): Chunk[] {
    const chunks = this.added(index, item)
    const one = this.#items.get(index)!
    if (one.done) return chunks
    one.done = true
    const whole = wholeOf(item)
    if (whole.refused) this.#refused = true
    // Emits the remainder that didn't arrive in deltas; if the two differ, the streamed text counts.
    if (whole.text.startsWith(one.said)) chunks.push(...this.#say(one, whole.text.slice(one.said.length), true))
    const rest = one.whole.rest()
    if (rest !== '') chunks.push(...piece(one, rest))
    if (one.type === 'message') chunks.push(...this.#citations(item))
    if (one.type === 'image_generation_call') chunks.push(...this.#picture(item))
    if (one.type === 'reasoning') {
      const { type: _, text, ...opaque } = readReasoning(item)
      if (text !== '' || one.said !== '' || Object.keys(opaque).length > 0)
        chunks.push({ type: 'reasoning_end', ...opaque })
    }
    if (one.id !== '') {
      // A call without arguments: in JSON an empty object.
      if (one.said === '' && whole.text === '') chunks.push({ type: 'tool_call_delta', id: one.id, delta: '{}' })
      chunks.push({ type: 'tool_call_end', id: one.id })
    }
    return chunks
  }

  /** Items that only appear here are read now. */
  over(response: Json): Chunk[] {
    const chunks = this.start(response)
    const output = listOf(response['output']).map(objectOf)
    for (const [index, item] of output.entries()) chunks.push(...this.done(index, item))
    for (const [index, { type, id, done }] of this.#items)
      if (!done) chunks.push(...this.done(index, { type, call_id: id }))
    const usage = readUsage(response['usage'])
    if (usage) chunks.push({ type: 'usage', usage })
    chunks.push(this.#last(response))
    return chunks
  }

  #picture(item: Json): Chunk[] {
    const data = textOf(item['result'])
    if (data === '') return [lostPart('image_generation_call')]
    this.#spoke = true
    return [{ type: 'image', source: { kind: 'base64', media_type: magicType(data) ?? 'image/png', data } }]
  }

  /** Offsets count within their part. */
  #citations(item: Json): Chunk[] {
    return listOf(item['content'])
      .map(objectOf)
      .flatMap((part) => {
        const from = this.#cited
        this.#cited += textOf(part['text']).length
        return listOf(part['annotations']).flatMap((one) => readUrlCitation(one, from) ?? [])
      })
      .map((citation) => ({ type: 'citation', citation }))
  }

  get spoke(): boolean {
    return this.#spoke
  }

  #last(response: Json): Chunk {
    const status = textOf(response['status'])
    const error = reasonIn(response) ?? objectOf(response['error'])
    if (hasFailed(response) || Object.keys(error).length > 0)
      return { type: 'error', error: readFailure(error, response) }
    const reason = textOf(objectOf(response['incomplete_details'])['reason'])
    if (reason === 'max_output_tokens') return { type: 'finish', reason: 'length', native: reason }
    if (reason === 'content_filter') return { type: 'finish', reason, native: reason }
    const native = reason || status || null
    if (this.#called) return { type: 'finish', reason: 'tool_calls', native }
    return { type: 'finish', reason: this.#refused ? 'content_filter' : 'stop', native }
  }

  #open(index: number, type: string): Item {
    const existing = this.#items.get(index)
    if (existing) return existing
    const item: Item = { type, said: '', whole: new WholeText(), id: '', done: false }
    this.#items.set(index, item)
    return item
  }

  /** Free text only becomes JSON once complete: `last`. */
  #say(item: Item, delta: string, last = false): Chunk[] {
    if (delta === '') return []
    this.#spoke = true
    if (item.type === 'custom_tool_call' && !last) return []
    item.said += delta
    const text = item.whole.push(delta)
    return [...this.start({}), ...(text === '' ? [] : piece(item, text))]
  }
}

const OWN: ReadonlySet<string> = new Set(['message', 'reasoning', 'image_generation_call'])

export function reasonIn(event: Json): Json | null {
  const response = objectOf(event['response'])
  const places = [
    event['error'],
    response['error'],
    event['last_error'],
    response['last_error'],
    objectOf(event['status_details'])['error'],
    objectOf(response['status_details'])['error'],
    event['type'] === 'error' ? { ...event, type: null } : null,
  ]
  const reason = places
    .map((place) => (typeof place === 'string' ? { message: place } : objectOf(place)))
    .find(hasMessage)
  return reason ?? causeIn(isObject(event['response']) ? response : event)
}

export const hasFailed = (response: Json): boolean => /^(?:failed|cancell?ed)$/.test(textOf(response['status']))

/** A refusal among its items, or the reason why it is incomplete. */
function causeIn(response: Json): Json | null {
  if (!hasFailed(response)) return null
  const refusal = listOf(response['output'])
    .flatMap((item) => listOf(objectOf(item)['content']))
    .map((part) => textOf(objectOf(part)['refusal']))
    .find((words) => words !== '')
  const code = textOf(objectOf(response['incomplete_details'])['reason'])
  if (refusal === undefined && code === '') return null
  // Neither is the provider's fault, so a retry would end the same way.
  return {
    type: 'invalid_request_error',
    code: code || 'refusal',
    message: refusal ?? `The provider stopped the response: ${shorten(code, 60)}.`,
  }
}

const hasMessage = (error: Json): boolean => textOf(error['message']) !== ''

export function readFailure(error: Json, response: Json = {}): UpstreamFault {
  const code = textOf(error['code'])
  const message = textOf(error['message'])
  const ended =
    response['status'] === 'failed' || !hasFailed(response) ? 'failed during the response' : 'canceled the response'
  return fault(
    kindOf(null, `${textOf(error['type'])} ${code} ${message}`),
    message || `The provider ${ended}${code === '' ? '' : `: ${shorten(code, 60)}`}.`,
    null,
  )
}

function piece({ type, id }: Item, text: string): Chunk[] {
  if (id !== '') return [{ type: 'tool_call_delta', id, delta: text }]
  if (type === 'reasoning') return [{ type: 'reasoning', text }]
  return type === 'message' ? [{ type: 'text', text }] : []
}

function wholeOf(item: Json): { text: string; refused: boolean } {
  const type = textOf(item['type'])
  if (type === 'reasoning') return { text: thoughtsOf(item), refused: false }
  if (type === 'function_call') return { text: textOf(item['arguments']), refused: false }
  if (type === 'custom_tool_call') return { text: wrapText(textOf(item['input'])), refused: false }
  if (type !== 'message') return { text: '', refused: false }
  const parts = listOf(item['content']).map(objectOf)
  const text = parts.map((part) => textOf(part['text']) || textOf(part['refusal'])).join('')
  return { text, refused: parts.some((part) => textOf(part['refusal']) !== '') }
}
