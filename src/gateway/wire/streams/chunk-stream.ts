import type { Chunk } from '../../model/canonical-request.ts'
import { type SseEvent, SseReader } from './sse.ts'

/**
 * A provider's stream of server-sent events in any shape, fed with its bytes as they come, cut anywhere. The last chunk of
 * all is one `finish` or one `error`; after it nothing more is said.
 */
export abstract class ChunkStream {
  readonly #sse = new SseReader()
  #over = false

  /** The chunks that an event says. */
  protected abstract event(event: SseEvent): Chunk[]
  /** The chunks left to say when the connection has ended without a last word. */
  protected abstract last(): Chunk[]

  feed(bytes: Uint8Array): Chunk[] {
    return this.#guard(() => this.#read(this.#sse.feed(bytes)))
  }

  /** The connection has ended. */
  end(): Chunk[] {
    return this.#guard(() => {
      const chunks = this.#read(this.#sse.end())
      return this.#over ? chunks : [...chunks, ...this.#said(this.last())]
    })
  }

  #read(events: SseEvent[]): Chunk[] {
    return events.flatMap((event) => (this.#over ? [] : this.#said(this.event(event))))
  }

  #said(chunks: Chunk[]): Chunk[] {
    if (chunks.some(({ type }) => type === 'finish' || type === 'error')) this.#over = true
    return chunks
  }

  #guard(read: () => Chunk[]): Chunk[] {
    if (this.#over) return []
    try {
      return read()
    } catch (error) {
      if (error instanceof RangeError)
        return this.#said([malformedChunk(`The provider sent too much: ${error.message}.`)])
      throw error
    }
  }
}

export const malformedChunk = (message: string): Chunk => ({ type: 'error', error: { kind: 'garbage', message } })
/** `spoke`: something of an answer had come. */
export const brokenOffChunk = (spoke: boolean): Chunk =>
  malformedChunk(spoke ? 'The answer of the provider broke off.' : 'The provider ended without an answer.')
