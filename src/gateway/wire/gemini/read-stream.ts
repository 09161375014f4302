import type { Chunk } from '../../model/canonical-request.ts'
import { ChunkStream, malformedChunk } from '../streams/chunk-stream.ts'
import { readStreamFault } from '../faults/faults.ts'
import { isObject, parseJson } from '../../model/json.ts'
import type { SseEvent } from '../streams/sse.ts'
import { ContentReader } from './read-content.ts'

/**
 * `streamGenerateContent?alt=sse` has no end marker: the finish comes with `end()`, and is an `error` without a finish
 * reason.
 */
export class StreamReader extends ChunkStream {
  readonly #content = new ContentReader()

  protected event({ data }: SseEvent): Chunk[] {
    if (data.trim() === '') return []
    const answer = parseJson(data)
    if (!isObject(answer)) return [malformedChunk('The provider’s stream contains something other than a response.')]
    if (answer['error']) return [{ type: 'error', error: readStreamFault(answer['error']) }]
    return this.#content.read(answer)
  }

  protected last(): Chunk[] {
    return this.#content.end()
  }
}
