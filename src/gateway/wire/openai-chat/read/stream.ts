import type { Chunk } from '../../../model/canonical-request.ts'
import { ChunkStream, malformedChunk } from '../../streams/chunk-stream.ts'
import { readStreamFault } from '../../faults/faults.ts'
import { isObject, parseJson } from '../../../model/json.ts'
import type { SseEvent } from '../../streams/sse.ts'
import { MessageReader } from './message.ts'

/** Usage follows the finish reason, so the finish waits for `[DONE]` or `end()`. */
export class StreamReader extends ChunkStream {
  readonly #message = new MessageReader()

  protected event({ event, data }: SseEvent): Chunk[] {
    const words = data.trim()
    if (words === '') return []
    if (words === '[DONE]') return this.#message.end(true)
    const answer = parseJson(words)
    if (!isObject(answer)) return [malformedChunk('The provider’s stream contains something other than a chunk.')]
    if (answer['error'] || event === 'error')
      return [{ type: 'error', error: readStreamFault(answer['error'] ?? answer) }]
    return this.#message.read(answer)
  }

  protected last(): Chunk[] {
    return this.#message.end(false)
  }
}
