import { newId } from '#core/ids.ts'
import type { Chunk } from '../../model/canonical-request.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../model/json.ts'
import { WholeText } from '../streams/whole-text.ts'
import { withoutKeys } from '../faults/faults.ts'
import { readFinish } from './finish.ts'
import { lostPart } from '../parts/lost-parts.ts'
import { readInlineData } from './output-media.ts'
import { GEMINI_FORMAT, pictureId, TEXT_ID } from '../parts/gemini-signature.ts'
import { readUsage } from './usage.ts'
import { shorten } from '#core/text/shorten.ts'

/** The vendor's own types of parts (@google/genai, Part). */
const FURTHER = ['executableCode', 'codeExecutionResult', 'fileData', 'toolCall', 'toolResponse']

/** Only the first candidate is read. */
export class ContentReader {
  readonly #text = new WholeText()
  readonly #thought = new WholeText()
  readonly #ids = new Set<string>()
  #started = false
  #thinking = false
  #spoke = false
  #pictures = 0
  #native: string | null = null
  #blocked: string | null = null
  #why = ''

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
    this.#why = textOf(candidate?.['finishMessage']) || this.#why
    const blockReason = textOf(objectOf(answer['promptFeedback'])['blockReason'])
    if (blockReason !== '') this.#blocked = blockReason
    const usage = readUsage(answer['usageMetadata'])
    if (usage) chunks.push({ type: 'usage', ...usage })
    return chunks
  }

  end(): Chunk[] {
    const chunks = [...this.#endThought(), ...text(this.#text.rest())]
    const native = this.#native ?? this.#blocked
    if (native === null) {
      const message = this.#spoke
        ? 'The provider’s response ended early.'
        : 'The provider ended the stream without a response.'
      return [...chunks, { type: 'error', error: { kind: 'garbage', message } }]
    }
    const reason = this.#native === null ? 'content_filter' : readFinish(native, this.#ids.size > 0)
    if (reason !== 'error') return [...chunks, { type: 'finish', reason, native }]
    const why = this.#why === '' ? '' : ` ${shorten(withoutKeys(this.#why), 500)}`
    const message = `The provider failed during the response: ${shorten(native, 60)}.${why}`
    return [...chunks, { type: 'error', error: { kind: 'server_error', message } }]
  }

  #part(part: Json, chunks: Chunk[]): void {
    const signature = textOf(part['thoughtSignature'])
    if (isObject(part['functionCall'])) return this.#call(part['functionCall'], signature, chunks)
    // Thoughts may contain drafts.
    if (isObject(part['inlineData']) && part['thought'] !== true)
      return this.#media(part['inlineData'], signature, chunks)
    for (const kind of FURTHER) if (isObject(part[kind])) chunks.push(lostPart(kind))
    const words = textOf(part['text'])
    this.#spoke ||= words !== ''
    if (part['thought'] === true) return this.#think(words, signature, chunks)
    if (words !== '') chunks.push(...this.#endThought(), ...text(this.#text.push(words)))
    if (signature === '') return
    // A stream may end with an empty part that signs the text before it.
    chunks.push(...this.#endThought(), ...text(this.#text.rest()), signatureChunk(signature, TEXT_ID))
  }

  #think(words: string, signature: string, chunks: Chunk[]): void {
    if (words !== '' || signature !== '') chunks.push(...text(this.#text.rest()))
    this.#thinking ||= words !== ''
    const whole = this.#thought.push(words)
    if (whole !== '') chunks.push({ type: 'reasoning', text: whole })
    if (signature === '') return
    const rest = this.#thought.rest()
    if (rest !== '') chunks.push({ type: 'reasoning', text: rest })
    this.#thinking = false
    chunks.push({ type: 'reasoning_end', signature, format: GEMINI_FORMAT })
  }

  #media(inlineData: Json, signature: string, chunks: Chunk[]): void {
    const media = readInlineData(inlineData)
    if (media.length === 0) {
      if (textOf(inlineData['data']) !== '') chunks.push(lostPart('inlineData'))
      return
    }
    this.#spoke = true
    chunks.push(...this.#endThought(), ...text(this.#text.rest()))
    const isPicture = media.some(({ type }) => type === 'image')
    if (isPicture && signature !== '') chunks.push(signatureChunk(signature, pictureId(this.#pictures)))
    if (isPicture) this.#pictures++
    chunks.push(...media)
  }

  /** Calls arrive whole. The signature of a call travels as opaque reasoning before it, in both directions. */
  #call(call: Json, signature: string, chunks: Chunk[]): void {
    this.#spoke = true
    const ownId = textOf(call['id'])
    const id = ownId === '' || this.#ids.has(ownId) ? `call_${newId()}` : ownId
    this.#ids.add(id)
    chunks.push(...this.#endThought(), ...text(this.#text.rest()))
    if (signature !== '') chunks.push(signatureChunk(signature, id))
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

const signatureChunk = (redacted: string, id: string): Chunk => ({
  type: 'reasoning_end',
  redacted,
  format: GEMINI_FORMAT,
  id,
})
