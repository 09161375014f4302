import type { Chunk } from '../../turn.ts'
import { readStreamFault } from '../faults.ts'
import { isObject, parseJson } from '../json.ts'
import { type SseEvent, SseReader } from '../sse.ts'
import { ContentReader } from './read-content.ts'

/**
 * The stream of `streamGenerateContent?alt=sse`, fed with its bytes as they come, cut anywhere. It has no last word:
 * the finish comes with `end()`, and is an `error` where no reason to finish was given.
 */
export class StreamReader {
  readonly #sse = new SseReader()
  readonly #content = new ContentReader()
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
      return [...chunks, ...this.#content.end()]
    })
  }

  #events(events: SseEvent[]): Chunk[] {
    return events.flatMap(({ data }) => (this.#over || data.trim() === '' ? [] : this.#event(data)))
  }

  #event(data: string): Chunk[] {
    const answer = parseJson(data)
    if (!isObject(answer)) return this.#fail('The stream of the provider holds something that is no answer.')
    if (!answer['error']) return this.#content.read(answer)
    this.#over = true
    return [{ type: 'error', error: readStreamFault(answer['error']) }]
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
