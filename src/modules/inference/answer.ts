import type { z } from 'zod'
import type { ServedCall } from '#gateway/call/complete.ts'
import type { FinishReason } from '#gateway/model/canonical-request.ts'
import type { Chunk, Loss } from '#gateway/model/canonical-request.ts'
import { lossOf } from '#gateway/wire/parts/lost-parts.ts'
import type { Id } from '#core/ids.ts'
import { toUsd } from '#core/money.ts'
import { iso } from '#core/time.ts'
import type { OutputPart, TextCompletion } from './contract.ts'

export type Part = z.output<typeof OutputPart>
export type Completed = z.output<typeof TextCompletion>

export interface StreamEvent {
  event: string
  data: Record<string, unknown>
}

/** Assembles a response from its chunks and produces the stream events for each. */
export class InferenceAnswer {
  readonly id: Id
  readonly createdAt: string
  readonly content: Part[] = []
  #finish: FinishReason | null = null
  #reasoning: { part: Extract<Part, { type: 'reasoning' }>; index: number } | null = null
  /** Names of parts that couldn't be represented. */
  readonly #lost = new Set<Loss>()
  readonly #calls = new Map<string, Extract<Part, { type: 'tool_call' }>>()

  constructor(id: Id, at: Date) {
    this.id = id
    this.createdAt = iso(at)
  }

  add(chunk: Chunk): StreamEvent[] {
    switch (chunk.type) {
      case 'text': {
        const last = this.content.at(-1)
        const part = last?.type === 'text' ? last : this.#open({ type: 'text', text: '' })
        part.text += chunk.text
        return [this.#delta('text.delta', this.content.length - 1, chunk.text)]
      }
      case 'reasoning': {
        const { part, index } = this.#openReasoning()
        part.text += chunk.text
        return [this.#delta('reasoning.delta', index, chunk.text)]
      }
      case 'reasoning_end': {
        const { type: _, ...opaque } = chunk
        if (Object.keys(opaque).length > 0) this.#openReasoning().part.opaque = opaque
        this.#reasoning = null
        return []
      }
      case 'tool_call_start': {
        const { id, name } = chunk
        this.#calls.set(id, this.#open({ type: 'tool_call', id, name, arguments: '' }))
        return [{ event: 'tool_call.started', data: { tool_call_id: id, name } }]
      }
      case 'tool_call_delta': {
        const call = this.#calls.get(chunk.id)
        if (!call) return []
        call.arguments += chunk.delta
        return [{ event: 'tool_call.delta', data: { tool_call_id: chunk.id, delta: chunk.delta } }]
      }
      case 'tool_call_end': {
        const call = this.#calls.get(chunk.id)
        if (!call) return []
        return [
          { event: 'tool_call.completed', data: { tool_call_id: call.id, name: call.name, arguments: call.arguments } },
        ]
      }
      case 'finish':
        this.#finish = chunk.reason
        return []
      // Messages can't contain these.
      case 'image':
      case 'audio':
        this.#lost.add(lossOf(chunk.type))
        return []
      case 'lost':
        this.#lost.add(chunk.name)
        return []
      case 'citation':
      case 'start':
      case 'usage':
      case 'error':
        return []
    }
  }

  /** The completion so far. `usage` and `cost_usd` are null until the end. */
  shown(served: ServedCall): Completed {
    return {
      id: this.id,
      created_at: this.createdAt,
      model: served.model,
      provider: served.provider,
      text: this.content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      content: this.content.map((part) => ({ ...part })),
      tool_calls: this.content.flatMap((part) =>
        part.type === 'tool_call' ? [{ id: part.id, name: part.name, arguments: part.arguments }] : [],
      ),
      finish_reason: this.#finish,
      usage: served.usage,
      cost_usd: served.cost === null ? null : toUsd(served.cost),
      losses: [...new Set([...served.losses, ...this.#lost])],
    }
  }

  #open<P extends Part>(part: P): P {
    this.content.push(part)
    return part
  }

  #openReasoning(): { part: Extract<Part, { type: 'reasoning' }>; index: number } {
    if (this.#reasoning === null) {
      const part = this.#open({ type: 'reasoning' as const, text: '', opaque: null })
      this.#reasoning = { part, index: this.content.length - 1 }
    }
    return this.#reasoning
  }

  #delta(event: string, index: number, delta: string): StreamEvent {
    return { event, data: { message_id: this.id, index, delta } }
  }
}
