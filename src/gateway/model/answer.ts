import type { TokensOfMedia } from './cost/cost.ts'
import type { Usage } from '#core/usage.ts'
import type { CanonicalPart, Chunk, FinishReason, MediaSource, SoundPiece, UpstreamFault } from './canonical-request.ts'

/**
 * Parts of an assistant message in the contract: `text`, `reasoning`, and `tool_call`, in the order of their starts.
 */
export type AnswerPart = Extract<CanonicalPart, { type: 'text' | 'reasoning' | 'tool_call' }>

export interface CollectedAnswer {
  /** The provider's ID of the answer and name of the model; empty if it never sent them. */
  id: string
  model: string
  content: AnswerPart[]
  images: MediaSource[]
  sound: SoundPiece[]
  /** Null: the provider reported none. Without `finish` it may only cover the input. */
  usage: Usage | null
  cost_usd: number | null
  media: TokensOfMedia | null
  finish: { reason: FinishReason; native: string | null; stop_sequence: string | null } | null
  error: UpstreamFault | null
}

export class Collector {
  readonly collected: CollectedAnswer = {
    id: '',
    model: '',
    content: [],
    images: [],
    sound: [],
    usage: null,
    cost_usd: null,
    media: null,
    finish: null,
    error: null,
  }
  #reasoning: Extract<AnswerPart, { type: 'reasoning' }> | null = null
  readonly #calls = new Map<string, Extract<AnswerPart, { type: 'tool_call' }>>()

  add(chunk: Chunk): void {
    const { collected: answer } = this
    switch (chunk.type) {
      case 'start':
        answer.id = chunk.id
        answer.model = chunk.model
        return
      case 'text': {
        const last = answer.content.at(-1)
        if (last?.type === 'text') last.text += chunk.text
        else if (chunk.text !== '') answer.content.push({ type: 'text', text: chunk.text })
        return
      }
      case 'image':
        answer.images.push(chunk.source)
        return
      case 'audio': {
        const { type: _, ...piece } = chunk
        answer.sound.push(piece)
        return
      }
      case 'citation': {
        const textPart = answer.content.findLast((part) => part.type === 'text')
        if (textPart) (textPart.citations ??= []).push(chunk.citation)
        return
      }
      case 'reasoning':
        this.#openReasoning().text += chunk.text
        return
      case 'reasoning_end': {
        const { type: _, ...opaque } = chunk
        Object.assign(this.#openReasoning(), opaque)
        this.#reasoning = null
        return
      }
      case 'tool_call_start': {
        const call = { type: 'tool_call' as const, id: chunk.id, name: chunk.name, arguments: '' }
        this.#calls.set(chunk.id, call)
        answer.content.push(call)
        return
      }
      case 'tool_call_delta': {
        const call = this.#calls.get(chunk.id)
        if (call) call.arguments += chunk.delta
        return
      }
      case 'tool_call_end':
      case 'lost':
        return
      case 'usage':
        answer.usage = chunk.usage
        answer.cost_usd = chunk.cost_usd ?? null
        answer.media = chunk.media ?? null
        return
      case 'finish':
        answer.finish = { reason: chunk.reason, native: chunk.native, stop_sequence: chunk.stop_sequence ?? null }
        return
      case 'error':
        answer.error = chunk.error
    }
  }

  #openReasoning(): Extract<AnswerPart, { type: 'reasoning' }> {
    if (!this.#reasoning) {
      this.#reasoning = { type: 'reasoning', text: '' }
      this.collected.content.push(this.#reasoning)
    }
    return this.#reasoning
  }
}

export function fold(chunks: Iterable<Chunk>): CollectedAnswer {
  const collector = new Collector()
  for (const chunk of chunks) collector.add(chunk)
  return collector.collected
}

export async function collect(chunks: AsyncIterable<Chunk>): Promise<CollectedAnswer> {
  const collector = new Collector()
  for await (const chunk of chunks) collector.add(chunk)
  return collector.collected
}

export const textOfAnswer = ({ content }: CollectedAnswer): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')
