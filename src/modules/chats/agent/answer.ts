import type { Chunk, FinishReason } from '#gateway/model/canonical-request.ts'
import { storable } from '#core/text/storable.ts'
import type { Part } from '../messages/parts.ts'
import type { RunEvent } from '../runs/facts.ts'

/**
 * Assembles an answer from chunks and returns the events of each. Deltas are whole code points without NUL, and
 * concatenate to the part.
 */
export class AgentAnswer {
  readonly #messageId: string
  readonly parts: Part[] = []
  finish: FinishReason | null = null
  readonly #text = new Gate()
  readonly #thought = new Gate()
  readonly #calls = new Map<string, { part: CallPart; gate: Gate }>()
  #reasoning: { part: ReasoningPart; index: number } | null = null
  #closed = 0

  constructor(messageId: string, parts: readonly Part[] = []) {
    this.#messageId = messageId
    this.parts.push(...parts)
  }

  add(chunk: Chunk): RunEvent[] {
    switch (chunk.type) {
      case 'text':
        return this.#speak(this.#text.pass(chunk.text))
      case 'reasoning':
        return this.#think(this.#thought.pass(chunk.text))
      case 'reasoning_end': {
        const { type: _, ...opaque } = chunk
        const events = this.#think(this.#thought.rest())
        const entries = Object.entries(opaque).map(([name, words]) => [name, storable(words)])
        if (entries.length > 0) this.#openReasoning().part.opaque = Object.fromEntries(entries)
        this.#reasoning = null
        return events
      }
      case 'tool_call_start': {
        const part: CallPart = {
          type: 'tool_call',
          id: storable(chunk.id),
          name: storable(chunk.name),
          arguments: '',
        }
        this.parts.push(part)
        this.#calls.set(chunk.id, { part, gate: new Gate() })
        return [{ type: 'tool_call.started', data: { tool_call_id: part.id, name: part.name } }]
      }
      case 'tool_call_delta': {
        const call = this.#calls.get(chunk.id)
        return call ? this.#write(call.part, call.gate.pass(chunk.delta)) : []
      }
      case 'tool_call_end': {
        const call = this.#calls.get(chunk.id)
        if (!call) return []
        this.#calls.delete(chunk.id)
        const rest = this.#write(call.part, call.gate.rest())
        const { id, name, arguments: words } = call.part
        return [...rest, { type: 'tool_call.completed', data: { tool_call_id: id, name, arguments: words } }]
      }
      case 'finish':
        this.finish = chunk.reason
        return []
      case 'citation':
      case 'image':
      case 'audio':
      case 'lost':
      case 'start':
      case 'usage':
      case 'error':
        return []
    }
  }

  end(): RunEvent[] {
    return [
      ...this.#think(this.#thought.rest()),
      ...this.#speak(this.#text.rest()),
      ...[...this.#calls.values()].flatMap(({ part, gate }) => this.#write(part, gate.rest())),
    ]
  }

  /** Starts the next model call: its text becomes a new part. */
  next(): void {
    this.#closed = this.parts.length
    this.#reasoning = null
    this.#calls.clear()
    this.finish = null
  }

  #speak(delta: string): RunEvent[] {
    if (delta === '') return []
    let part = this.parts.at(-1)
    if (part?.type !== 'text' || this.parts.length === this.#closed)
      this.parts.push((part = { type: 'text', text: '' }))
    return this.#grow(part, this.parts.length - 1, delta)
  }

  #think(delta: string): RunEvent[] {
    if (delta === '') return []
    const { part, index } = this.#openReasoning()
    return this.#grow(part, index, delta)
  }

  #openReasoning(): { part: ReasoningPart; index: number } {
    if (this.#reasoning === null) {
      const part: ReasoningPart = { type: 'reasoning', text: '', opaque: null }
      this.#reasoning = { part, index: this.parts.push(part) - 1 }
    }
    return this.#reasoning
  }

  #grow(part: TextPart | ReasoningPart, index: number, delta: string): RunEvent[] {
    part.text += delta
    return [{ type: `${part.type}.delta`, data: { message_id: this.#messageId, index, delta } }]
  }

  #write(part: CallPart, delta: string): RunEvent[] {
    if (delta === '') return []
    part.arguments += delta
    return [{ type: 'tool_call.delta', data: { tool_call_id: part.id, delta } }]
  }
}

type TextPart = Extract<Part, { type: 'text' }>
type ReasoningPart = Extract<Part, { type: 'reasoning' }>
type CallPart = Extract<Part, { type: 'tool_call' }>

/** Passes whole code points: buffers half of a surrogate pair and drops NUL, which PostgreSQL can't store. */
class Gate {
  #held = ''
  pass(words: string): string {
    const all = this.#held + words.replaceAll('\0', '')
    const last = all.charCodeAt(all.length - 1)
    const whole = last >= 0xd800 && last <= 0xdbff ? all.length - 1 : all.length
    this.#held = all.slice(whole)
    return all.slice(0, whole).toWellFormed()
  }
  rest(): string {
    const rest = this.#held.toWellFormed()
    this.#held = ''
    return rest
  }
}
