import type { AnswerPart } from '../../model/answer.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import type { Opaque } from '../shared/envelope.ts'
import type { Citation } from '../../model/canonical-request.ts'
import { writeUrlCitation } from '../shared/citations.ts'
import { compact, type Json, listOf } from '../../model/json.ts'
import { magicType } from '../shared/media.ts'
import { sealReasoning } from './sealed.ts'
import { type ClientTool, clientTools, unwrapText } from './tools.ts'

/** Sealed reasoning that providers want back, by items whose clients didn't request it. */
const seals = new WeakMap<Json, string>()

export const withSealedReasoning = (item: Json): Json =>
  seals.has(item) ? { ...item, encrypted_content: seals.get(item) } : item

export class Items {
  readonly #id: string
  readonly #tools: ReadonlyMap<string, ClientTool>
  readonly #sealed: boolean
  #made = 0

  constructor({ id, request }: AnswerAbout) {
    this.#id = id
    this.#tools = clientTools(request)
    this.#sealed = listOf(request['include']).includes('reasoning.encrypted_content')
  }

  #newId(prefix: string): string {
    return `${prefix}_${this.#id}${String(this.#made++).padStart(4, '0')}`
  }

  message(): Json {
    return { id: this.#newId('msg'), type: 'message', status: 'in_progress', role: 'assistant', content: [] }
  }

  reasoning(): Json {
    return { id: this.#newId('rs'), type: 'reasoning', summary: [], ...(this.#sealed && { encrypted_content: null }) }
  }

  picture(): Json {
    return { id: this.#newId('ig'), type: 'image_generation_call', status: 'in_progress', result: null }
  }

  call(call_id: string, name: string): Json {
    const { kind, namespace, name: own } = this.#tools.get(name) ?? { kind: 'function', name }
    const named = compact({ call_id, name: own, namespace })
    return kind === 'custom'
      ? { id: this.#newId('ctc'), type: 'custom_tool_call', status: 'in_progress', ...named, input: '' }
      : { id: this.#newId('fc'), type: 'function_call', status: 'in_progress', ...named, arguments: '' }
  }

  whole(part: AnswerPart, from: number): Json {
    if (part.type === 'text') return messageItem(this.message(), part.text, annotationsOf(part.citations ?? [], from))
    if (part.type === 'reasoning') return this.thought(this.reasoning(), part.text, part)
    return callItem(this.call(part.id, part.name), part.arguments)
  }

  /** The sealed content only if the client asked for it. */
  thought(item: Json, text: string, opaque: Opaque): Json {
    const summary = text === '' ? [] : [{ type: 'summary_text', text }]
    const seal = sealReasoning(opaque)
    const reasoningItem = { ...item, summary, ...(this.#sealed && { encrypted_content: seal }) }
    if (seal !== null) seals.set(reasoningItem, seal)
    return reasoningItem
  }
}

export const textPart = (text: string, annotations: Json[] = []): Json => ({
  type: 'output_text',
  text,
  annotations,
  logprobs: [],
})

export const annotationsOf = (citations: readonly Citation[], from: number): Json[] =>
  citations.flatMap((one) => {
    const annotation = writeUrlCitation(one, from)
    return annotation === null ? [] : [{ type: 'url_citation', ...annotation }]
  })

export const messageItem = (item: Json, text: string, annotations: Json[] = []): Json => ({
  ...item,
  status: 'completed',
  content: [textPart(text, annotations)],
})

export const pictureItem = (item: Json, data: string): Json => ({
  ...item,
  status: 'completed',
  result: data,
  output_format: magicType(data)?.replace('image/', '') ?? 'png',
})

export function callItem(item: Json, words: string): Json {
  const whole = { ...item, status: 'completed' }
  return item['type'] === 'custom_tool_call' ? { ...whole, input: unwrapText(words) } : { ...whole, arguments: words }
}
