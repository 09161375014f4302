import type { TokensOfMedia } from './cost/cost.ts'
import type { Usage } from '#core/usage.ts'
import type { CanonicalPart, Chunk, FinishReason, MediaSource, SoundPiece, UpstreamFault } from './canonical-request.ts'

/** Parts of an assistant message as the contract has them: `text`, `reasoning` and `tool_call`, in the order of their beginnings. */
export type AnswerPart = Extract<CanonicalPart, { type: 'text' | 'reasoning' | 'tool_call' }>

/** A finished answer, or as much of it as came before `error`. */
export interface Collected {
  /** The provider's names of the answer and the model; empty where it never said. */
  id: string
  model: string
  content: AnswerPart[]
  /** Pictures, in the order in which they came. */
  images: MediaSource[]
  sound: SoundPiece[]
  /** Null: the provider reported none. Without `finish`, it may be what is known of the input only. */
  usage: Usage | null
  /** The cost, where the provider reports one. */
  cost_usd: number | null
  /** The part of the tokens that was sound or pictures, where the provider says so. */
  media: TokensOfMedia | null
  finish: { reason: FinishReason; native: string | null; stop_sequence: string | null } | null
  error: UpstreamFault | null
}

/** Puts chunks together as they pass; `collected` is whole after the last one. */
export class Collector {
  readonly collected: Collected = {
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
    const { collected } = this
    switch (chunk.type) {
      case 'start':
        collected.id = chunk.id
        collected.model = chunk.model
        return
      case 'text': {
        const last = collected.content.at(-1)
        if (last?.type === 'text') last.text += chunk.text
        else if (chunk.text !== '') collected.content.push({ type: 'text', text: chunk.text })
        return
      }
      case 'image':
        collected.images.push(chunk.source)
        return
      case 'audio': {
        const { type: _, ...piece } = chunk
        collected.sound.push(piece)
        return
      }
      case 'citation': {
        const cited = collected.content.findLast((part) => part.type === 'text')
        if (cited) (cited.citations ??= []).push(chunk.citation)
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
        collected.content.push(call)
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
        collected.usage = chunk.usage
        collected.cost_usd = chunk.cost_usd ?? null
        collected.media = chunk.media ?? null
        return
      case 'finish':
        collected.finish = { reason: chunk.reason, native: chunk.native, stop_sequence: chunk.stop_sequence ?? null }
        return
      case 'error':
        collected.error = chunk.error
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

export function fold(chunks: Iterable<Chunk>): Collected {
  const collector = new Collector()
  for (const chunk of chunks) collector.add(chunk)
  return collector.collected
}

export async function collect(chunks: AsyncIterable<Chunk>): Promise<Collected> {
  const collector = new Collector()
  for await (const chunk of chunks) collector.add(chunk)
  return collector.collected
}

/** The text of the answer, without reasoning and calls. */
export const textOfAnswer = ({ content }: Collected): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')
