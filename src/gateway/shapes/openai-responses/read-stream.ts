import type { Chunk } from '../../turn.ts'
import { readStreamFault } from '../faults.ts'
import { isObject, type Json, objectOf, parseJson, textOf } from '../json.ts'
import { type SseEvent, SseReader } from '../sse.ts'
import { ItemReader } from './read-items.ts'

const broke = (spoke: boolean): Chunk => ({
  type: 'error',
  error: {
    kind: 'garbage',
    message: spoke ? 'The answer of the provider broke off.' : 'The provider ended without an answer.',
  },
})

/**
 * A provider's stream, fed with its bytes as they come, cut anywhere. The last chunk of all is one `finish` or one
 * `error`; after it nothing more is said.
 */
export class StreamReader {
  readonly #sse = new SseReader()
  readonly #items = new ItemReader()
  #over = false

  feed(bytes: Uint8Array): Chunk[] {
    return this.#guard(() => this.#events(this.#sse.feed(bytes)))
  }

  /** The connection has ended. */
  end(): Chunk[] {
    return this.#guard(() => {
      const chunks = this.#events(this.#sse.end())
      if (this.#over) return chunks
      this.#over = true
      return [...chunks, broke(this.#items.spoke)]
    })
  }

  #events(events: SseEvent[]): Chunk[] {
    return events.flatMap((event) => (this.#over ? [] : this.#event(event)))
  }

  #event({ event: name, data }: SseEvent): Chunk[] {
    if (data.trim() === '[DONE]') return []
    const event = parseJson(data)
    if (!isObject(event)) return this.#fail('The stream of the provider holds something that is no event.')
    return this.#read(textOf(event['type']) || name, event)
  }

  #read(type: string, event: Json): Chunk[] {
    const items = this.#items
    const index = typeof event['output_index'] === 'number' ? event['output_index'] : 0
    const delta = textOf(event['delta'])
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
      case 'response.queued':
        return items.start(objectOf(event['response']))
      case 'response.output_item.added':
        return items.added(index, objectOf(event['item']))
      case 'response.output_text.delta':
        return items.text(index, delta)
      case 'response.refusal.delta':
        return items.text(index, delta, true)
      case 'response.reasoning_summary_part.added':
        return items.paragraph(index)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return items.thought(index, delta)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return items.call(index, delta)
      case 'response.output_item.done':
        return items.done(index, objectOf(event['item']))
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#over = true
        return items.over(objectOf(event['response']))
      case 'error':
        this.#over = true
        return [{ type: 'error', error: readStreamFault(event['error'] ?? { ...event, type: null }) }]
      default:
        // A provider that breaks off in its own way.
        if (!event['error']) return []
        this.#over = true
        return [{ type: 'error', error: readStreamFault(event['error']) }]
    }
  }

  #fail(message: string): Chunk[] {
    this.#over = true
    return [{ type: 'error', error: { kind: 'garbage', message } }]
  }

  #guard(read: () => Chunk[]): Chunk[] {
    if (this.#over) return []
    try {
      return read()
    } catch (error) {
      if (error instanceof RangeError) return this.#fail(`The provider sent too much: ${error.message}.`)
      throw error
    }
  }
}
