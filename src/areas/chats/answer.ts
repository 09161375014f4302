import type { Chunk, FinishReason } from '#gateway/turn.ts'
import type { Part } from './parts.ts'

/** Something that a run's readers are told, before it has its number. */
export interface Fact {
  type: string
  data: Record<string, unknown>
}

/**
 * Puts an answer together from chunks, and tells of each what its readers see. Deltas hold whole code points and no
 * NUL, and what is told of a part, joined, is that part.
 */
export class Answer {
  readonly #messageId: string
  readonly parts: Part[] = []
  finish: FinishReason | null = null
  readonly #gates = new Map<Part, Gate>()
  readonly #calls = new Map<string, Extract<Part, { type: 'tool_call' }>>()
  #reasoning: Extract<Part, { type: 'reasoning' }> | null = null

  constructor(messageId: string) {
    this.#messageId = messageId
  }

  add(chunk: Chunk): Fact[] {
    switch (chunk.type) {
      case 'text': {
        const last = this.parts.at(-1)
        return this.#say(last?.type === 'text' ? last : this.#open({ type: 'text', text: '' }), chunk.text)
      }
      case 'reasoning':
        return this.#say(this.#openReasoning(), chunk.text)
      case 'reasoning_end': {
        const { type: _, ...opaque } = chunk
        const part = this.#openReasoning()
        const told = this.#close(part)
        if (Object.keys(opaque).length > 0) part.opaque = opaque
        this.#reasoning = null
        return told
      }
      case 'tool_call_start': {
        const call = this.#open({ type: 'tool_call', id: chunk.id, name: chunk.name, arguments: '' })
        this.#calls.set(chunk.id, call)
        return [{ type: 'tool_call.started', data: { tool_call_id: call.id, name: call.name } }]
      }
      case 'tool_call_delta': {
        const call = this.#calls.get(chunk.id)
        return call ? this.#say(call, chunk.delta) : []
      }
      case 'tool_call_end': {
        const call = this.#calls.get(chunk.id)
        if (!call) return []
        const rest = this.#close(call)
        const { id, name, arguments: words } = call
        return [...rest, { type: 'tool_call.completed', data: { tool_call_id: id, name, arguments: words } }]
      }
      case 'finish':
        this.finish = chunk.reason
        return []
      case 'start':
      case 'usage':
      case 'error':
        return []
    }
  }

  /** What was held back, once no more comes. */
  end(): Fact[] {
    return [...this.#gates.keys()].flatMap((part) => this.#close(part))
  }

  #open<P extends Part>(part: P): P {
    this.parts.push(part)
    this.#gates.set(part, new Gate())
    return part
  }

  #openReasoning(): Extract<Part, { type: 'reasoning' }> {
    return (this.#reasoning ??= this.#open({ type: 'reasoning', text: '', opaque: null }))
  }

  #say(part: Speaking, words: string): Fact[] {
    return this.#tell(part, this.#gates.get(part)!.pass(words))
  }

  #close(part: Part): Fact[] {
    const gate = this.#gates.get(part)
    this.#gates.delete(part)
    return gate ? this.#tell(part as Speaking, gate.rest()) : []
  }

  #tell(part: Speaking, delta: string): Fact[] {
    if (delta === '') return []
    if (part.type === 'tool_call') {
      part.arguments += delta
      return [{ type: 'tool_call.delta', data: { tool_call_id: part.id, delta } }]
    }
    part.text += delta
    const index = this.parts.indexOf(part)
    return [{ type: `${part.type}.delta`, data: { message_id: this.#messageId, index, delta } }]
  }
}

type Speaking = Extract<Part, { type: 'text' | 'reasoning' | 'tool_call' }>

/** Lets text through in whole code points: half of a surrogate pair waits for the other, and NUL, which no column takes, is dropped. */
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

/** The content that a message's events tell of, for one whose run broke off: what was shown is what is kept. */
export function partsOf(messageId: string, facts: Iterable<Fact>): Part[] {
  const parts: Part[] = []
  const byIndex = new Map<unknown, Extract<Part, { type: 'text' | 'reasoning' }>>()
  const calls = new Map<unknown, Extract<Part, { type: 'tool_call' }>>()
  let of: unknown = null
  for (const { type, data } of facts) {
    if (type === 'message.started') of = (data.message as { id: string }).id
    if (of !== messageId) continue
    if (type === 'text.delta' || type === 'reasoning.delta') {
      let part = byIndex.get(data.index)
      if (!part) {
        part = type === 'text.delta' ? { type: 'text', text: '' } : { type: 'reasoning', text: '', opaque: null }
        byIndex.set(data.index, part)
        parts.push(part)
      }
      part.text += data.delta as string
    } else if (type === 'tool_call.started') {
      const call = {
        type: 'tool_call' as const,
        id: data.tool_call_id as string,
        name: data.name as string,
        arguments: '',
      }
      calls.set(call.id, call)
      parts.push(call)
    } else if (type === 'tool_call.delta') {
      const call = calls.get(data.tool_call_id)
      if (call) call.arguments += data.delta as string
    } else if (type === 'tool_result') {
      const { tool_call_id, output, is_error } = data
      parts.push({ type: 'tool_result', tool_call_id: tool_call_id as string, output, is_error: is_error as boolean })
    }
  }
  return parts
}

const SHOWN = new Set(['run.started', 'message.started'])
/** Whether a run told its readers more than that it began: then it cannot begin again as if nothing had been. */
export const hasShown = (types: Iterable<string>): boolean => [...types].some((type) => !SHOWN.has(type))

const ENDS = new Set(['run.completed', 'run.failed', 'run.cancelled'])
export const isEnd = (type: string): boolean => ENDS.has(type)
