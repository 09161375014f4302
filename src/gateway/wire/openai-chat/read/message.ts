import type { Chunk, UpstreamFault } from '../../../model/canonical-request.ts'
import { readStreamFault } from '../../faults/faults.ts'
import { readUrlCitation } from '../../shared/citations.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../../model/json.ts'
import { lostPart } from '../../parts/lost-parts.ts'
import { sourceOf } from '../../shared/media.ts'
import { WholeText } from '../../streams/whole-text.ts'
import { readPictures, readSound } from '../media.ts'
import { readFinish } from './finish.ts'
import { ReasoningReader } from './reasoning.ts'
import { ToolCallReader } from './tool-calls.ts'
import { usageIn } from '../usage.ts'

/** Only the first choice is read. */
export class MessageReader {
  readonly #reasoning = new ReasoningReader()
  readonly #calls = new ToolCallReader()
  readonly #text = new WholeText()
  #started = false
  #native: string | null = null
  #refused = false
  /** Why a choice failed (OpenRouter). */
  #error: UpstreamFault | null = null
  #spoke = false
  readonly #cited = new Set<string>()

  read(answer: Record<string, unknown>): Chunk[] {
    const chunks: Chunk[] = []
    const choices = listOf(answer['choices']).map(objectOf)
    const choice = choices.find(({ index }) => index === undefined || index === null || index === 0)
    if (!this.#started && (choice || textOf(answer['id']) !== '')) {
      this.#started = true
      chunks.push({ type: 'start', id: textOf(answer['id']), model: textOf(answer['model']) })
    }
    if (choice) {
      const message = isObject(choice['delta']) ? choice['delta'] : objectOf(choice['message'])
      this.#message(message, chunks)
      const native = textOf(choice['finish_reason'])
      // A second finish reason never hides that the answer was truncated.
      if (native !== '' && this.#native !== 'length') this.#native = native
      if (isObject(choice['error'])) this.#error = readStreamFault(choice['error'])
    }
    const usage = usageIn(answer)
    if (usage) chunks.push({ type: 'usage', ...usage })
    return chunks
  }

  /** `complete`: the provider marked its end, if only with `[DONE]`. */
  end(complete: boolean): Chunk[] {
    const chunks = [...this.#reasoning.end(), ...this.#rest()]
    const uncut = this.#calls.complete
    chunks.push(...this.#calls.end())
    const native = this.#native ?? ((this.#calls.any && uncut) || (complete && this.#spoke) ? 'stop' : null)
    if (native === null) {
      const message = this.#spoke
        ? 'The provider’s response ended early.'
        : 'The provider ended the stream without a response.'
      chunks.push({ type: 'error', error: { kind: 'garbage', message } })
      return chunks
    }
    const reason = readFinish(native, this.#calls.any, this.#refused)
    if (reason === 'error') {
      const why = { kind: 'server_error' as const, message: 'The provider failed during the response.' }
      chunks.push({ type: 'error', error: this.#error ?? why })
    } else chunks.push({ type: 'finish', reason, native: this.#native })
    return chunks
  }

  #message(message: Record<string, unknown>, chunks: Chunk[]): void {
    const reasoning = this.#reasoning.read(message)
    if (reasoning.length > 0) chunks.push(...this.#rest(), ...this.#calls.interrupt(), ...reasoning)
    const refusal = textOf(message['refusal'])
    this.#refused ||= refusal !== ''
    const text = (textOf(message['content']) || partsText(message['content'])) + refusal
    const deltas = [...listOf(message['tool_calls']), ...legacyCall(message['function_call'])]
    if (text !== '') {
      chunks.push(...this.#reasoning.end(), ...this.#calls.interrupt())
      const whole = this.#text.push(text)
      if (whole !== '') chunks.push({ type: 'text', text: whole })
    }
    for (const annotation of listOf(message['annotations'])) {
      const citation = readUrlCitation(annotation)
      const key = JSON.stringify(citation)
      // Some vendors repeat all citations in each delta.
      if (citation === null || this.#cited.has(key)) continue
      this.#cited.add(key)
      chunks.push({ type: 'citation', citation })
    }
    const sound = readSound(message)
    const media: Chunk[] = [
      ...readPictures(message).map((source) => ({ type: 'image' as const, source })),
      ...listOf(message['content']).map(objectOf).flatMap(mediaPart),
      ...(sound === null ? [] : [sound]),
    ]
    if (media.length > 0) chunks.push(...this.#reasoning.end(), ...this.#rest(), ...media)
    if (deltas.length > 0) {
      chunks.push(...this.#reasoning.end(), ...this.#rest())
      for (const delta of deltas) {
        if (isObject(objectOf(delta)['custom'])) chunks.push(lostPart('custom_tool_call'))
        else chunks.push(...this.#calls.delta(delta))
      }
    }
    this.#spoke ||= media.length > 0 || text !== '' || reasoning.length > 0 || deltas.length > 0
  }

  #rest(): Chunk[] {
    const rest = this.#text.rest()
    return rest === '' ? [] : [{ type: 'text', text: rest }]
  }
}

/** Content as a list of parts, as Mistral sends it. */
const partsText = (content: unknown): string =>
  listOf(content)
    .map(objectOf)
    .map((part) => (part['type'] === 'text' ? textOf(part['text']) : ''))
    .join('')

function mediaPart(part: Json): Chunk[] {
  const type = textOf(part['type'])
  if (SPOKEN.has(type)) return []
  const source = type === 'image_url' ? sourceOf(textOf(objectOf(part['image_url'])['url'])) : null
  return [source === null ? lostPart(type === 'image_url' ? 'image' : type) : { type: 'image', source }]
}
const SPOKEN: ReadonlySet<string> = new Set(['', 'text', 'thinking'])

const legacyCall = (call: unknown): object[] => (isObject(call) ? [{ index: 0, function: call }] : [])
