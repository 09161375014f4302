import type { Chunk } from '../../../model/canonical-request.ts'
import { ChunkStream, brokenOffChunk, malformedChunk } from '../../streams/chunk-stream.ts'
import { readStreamFault } from '../../faults/faults.ts'
import { isObject, type Json, objectOf, parseJson, textOf } from '../../../model/json.ts'
import type { SseEvent } from '../../streams/sse.ts'
import { readFinish } from '../finish.ts'
import { BlockReader } from './blocks.ts'
import { mergeUsage, readUsage } from '../usage.ts'

/**
 * Emits `usage` at the start, for the cost of the input even if the rest never arrives, and again in full before the
 * finish.
 */
export class StreamReader extends ChunkStream {
  readonly #blocks = new BlockReader()
  #usage: Json = {}
  #stop: { reason: string; sequence: unknown } | null = null
  #spoke = false

  protected event({ event, data }: SseEvent): Chunk[] {
    // Vendors that adopted the shape also send OpenAI's end marker.
    if (data.trim() === '' || data.trim() === '[DONE]') return []
    const payload = parseJson(data)
    if (!isObject(payload)) return [malformedChunk('The provider’s stream contains something other than an event.')]
    switch (textOf(payload['type']) || event) {
      case 'message_start': {
        const message = objectOf(payload['message'])
        const start: Chunk = { type: 'start', id: textOf(message['id']), model: textOf(message['model']) }
        return [start, ...this.#used(message['usage'])]
      }
      case 'content_block_start':
        this.#spoke = true
        return this.#blocks.start(payload['index'], payload['content_block'])
      case 'content_block_delta':
        return this.#blocks.delta(payload['index'], payload['delta'])
      case 'content_block_stop':
        return this.#blocks.stop(payload['index'])
      case 'message_delta': {
        const delta = objectOf(payload['delta'])
        const reason = textOf(delta['stop_reason'])
        if (reason !== '') this.#stop = { reason, sequence: delta['stop_sequence'] }
        return this.#used(payload['usage'])
      }
      case 'message_stop':
        return [...this.#used(payload['usage']), ...this.last()]
      case 'error':
        return [{ type: 'error', error: readStreamFault(payload['error'] ?? payload) }]
      default:
        return []
    }
  }

  #used(report: unknown): Chunk[] {
    if (!isObject(report)) return []
    this.#usage = mergeUsage(this.#usage, report)
    const usage = readUsage(this.#usage)
    return usage ? [{ type: 'usage', ...usage }] : []
  }

  protected last(): Chunk[] {
    if (this.#stop === null) return [brokenOffChunk(this.#spoke)]
    const { reason, sequence } = this.#stop
    return [...this.#blocks.stopAll(), readFinish(reason, sequence, this.#blocks.calls > 0)]
  }
}
