import type { Chunk } from '../../model/canonical-request.ts'
import { ChunkStream, brokenOffChunk, malformedChunk } from '../streams/chunk-stream.ts'
import { readStreamFault } from '../faults/faults.ts'
import { isObject, type Json, objectOf, parseJson, textOf } from '../../model/json.ts'
import type { SseEvent } from '../streams/sse.ts'
import { ItemReader, reasonIn } from './read-items.ts'

export class StreamReader extends ChunkStream {
  readonly #items = new ItemReader()
  /** The end of a failed response without a reason: a later event may have it. */
  #unexplained: Chunk | null = null

  protected event({ event: name, data }: SseEvent): Chunk[] {
    if (data.trim() === '[DONE]') return this.#unexplained === null ? [] : [this.#unexplained]
    const event = parseJson(data)
    if (!isObject(event)) return [malformedChunk('The provider’s stream contains something other than an event.')]
    return this.#read(textOf(event['type']) || name, event)
  }

  protected last(): Chunk[] {
    return [this.#unexplained ?? brokenOffChunk(this.#items.spoke)]
  }

  #explained(chunks: Chunk[], hasReason: boolean): Chunk[] {
    const last = chunks.at(-1)
    if (last?.type !== 'error' || hasReason) return chunks
    // The first event may know the type of the error.
    this.#unexplained ??= last
    return chunks.slice(0, -1)
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
      case 'response.cancelled':
      case 'response.canceled': {
        const response = { status: type.slice('response.'.length), ...objectOf(event['response']) }
        return this.#explained(items.over(response), reasonIn({ ...event, response }) !== null)
      }
      case 'error':
        return this.#explained(
          [{ type: 'error', error: readStreamFault(reasonIn(event) ?? event['error'] ?? { ...event, type: null }) }],
          reasonIn(event) !== null,
        )
      default:
        // A provider that ends streams in its own way.
        if (!event['error']) return []
        return [{ type: 'error', error: readStreamFault(event['error']) }]
    }
  }
}
