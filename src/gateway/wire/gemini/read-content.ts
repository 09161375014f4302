import { newId } from '#kernel/ids.ts'
import type { Chunk } from '../../model/canonical-request.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { WholeText } from '../streams/whole-text.ts'
import { readFinish } from './finish.ts'
import { readInlineData } from './made-media.ts'
import { GEMINI_FORMAT } from './signature.ts'
import { readUsage } from './usage.ts'
import { shorten } from '#kernel/text/shorten.ts'

/** A whole answer and the pieces of a stream are alike: each is fed here. Only the first candidate is read. */
export class ContentReader {
  readonly #text = new WholeText()
  readonly #thought = new WholeText()
  readonly #ids = new Set<string>()
  #started = false
  #thinking = false
  #spoke = false
  #native: string | null = null
  #blocked: string | null = null

  /** One GenerateContentResponse. */
  read(answer: Json): Chunk[] {
    const chunks: Chunk[] = []
    if (!this.#started) {
      this.#started = true
      chunks.push({ type: 'start', id: textOf(answer['responseId']), model: textOf(answer['modelVersion']) })
    }
    const candidate = listOf(answer['candidates'])
      .map(objectOf)
      .find(({ index }) => index === undefined || index === null || index === 0)
    for (const part of listOf(objectOf(candidate?.['content'])['parts'])) this.#part(objectOf(part), chunks)
    this.#native = textOf(candidate?.['finishReason']) || this.#native
    const blocked = textOf(objectOf(answer['promptFeedback'])['blockReason'])
    if (blocked !== '') this.#blocked = blocked
    const usage = readUsage(answer['usageMetadata'])
    if (usage) chunks.push({ type: 'usage', ...usage })
    return chunks
  }

  end(): Chunk[] {
    const chunks = [...this.#endThought(), ...text(this.#text.rest())]
    const native = this.#native ?? this.#blocked
    if (native === null) {
      const message = this.#spoke ? 'The answer of the provider broke off.' : 'The provider ended without an answer.'
      return [...chunks, { type: 'error', error: { kind: 'garbage', message } }]
    }
    const reason = this.#native === null ? 'content_filter' : readFinish(native, this.#ids.size > 0)
    if (reason !== 'error') return [...chunks, { type: 'finish', reason, native }]
    const message = `The provider failed while it answered: ${shorten(native, 60)}.`
    return [...chunks, { type: 'error', error: { kind: 'server_error', message } }]
  }

  #part(part: Json, chunks: Chunk[]): void {
    if (isObject(part['functionCall']))
      return this.#call(part['functionCall'], textOf(part['thoughtSignature']), chunks)
    // Thoughts may hold drafts.
    if (isObject(part['inlineData']) && part['thought'] !== true) return this.#media(part['inlineData'], chunks)
    const words = textOf(part['text'])
    if (words === '') return
    this.#spoke = true
    if (part['thought'] === true) {
      chunks.push(...text(this.#text.rest()))
      this.#thinking = true
      const whole = this.#thought.push(words)
      if (whole !== '') chunks.push({ type: 'reasoning', text: whole })
      return
    }
    chunks.push(...this.#endThought(), ...text(this.#text.push(words)))
  }

  #media(held: Json, chunks: Chunk[]): void {
    const made = readInlineData(held)
    if (made.length === 0) return
    this.#spoke = true
    chunks.push(...this.#endThought(), ...text(this.#text.rest()), ...made)
  }

  /** Calls come whole. The signature of one travels as opaque reasoning in front of it, and comes back so. */
  #call(call: Json, signature: string, chunks: Chunk[]): void {
    this.#spoke = true
    const given = textOf(call['id'])
    const id = given === '' || this.#ids.has(given) ? `call_${newId()}` : given
    this.#ids.add(id)
    chunks.push(...this.#endThought(), ...text(this.#text.rest()))
    if (signature !== '') chunks.push({ type: 'reasoning_end', redacted: signature, format: GEMINI_FORMAT, id })
    chunks.push(
      { type: 'tool_call_start', id, name: textOf(call['name']) },
      { type: 'tool_call_delta', id, delta: JSON.stringify(objectOf(call['args'])) },
      { type: 'tool_call_end', id },
    )
  }

  #endThought(): Chunk[] {
    if (!this.#thinking) return []
    this.#thinking = false
    const rest = this.#thought.rest()
    return [...(rest === '' ? [] : [{ type: 'reasoning' as const, text: rest }]), { type: 'reasoning_end' }]
  }
}

const text = (words: string): Chunk[] => (words === '' ? [] : [{ type: 'text', text: words }])
