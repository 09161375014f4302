import type { Chunk } from '../../turn.ts'
import { readStreamFault } from '../faults.ts'
import { isObject, parseJson } from '../json.ts'
import { type SseEvent, SseReader } from '../sse.ts'
import { MessageReader } from './read-message.ts'

/**
 * A provider's stream, fed with its bytes as they come, cut anywhere. The last chunk of all is one `finish` or one
 * `error`; after it nothing more is said. The finish comes at `[DONE]` or at `end()`, once the usage that follows a
 * finish reason is in.
 */
export class StreamReader {
  readonly #sse = new SseReader()
  readonly #message = new MessageReader()
  #over = false

  feed(bytes: Uint8Array): Chunk[] {
    return this.#guard(() => this.#events(this.#sse.feed(bytes)))
  }

  /** The connection has ended. */
  end(): Chunk[] {
    return this.#guard(() => {
      const chunks = this.#events(this.#sse.end())
      return this.#over ? chunks : [...chunks, ...this.#last(false)]
    })
  }

  #events(events: SseEvent[]): Chunk[] {
    return events.flatMap((event) => (this.#over ? [] : this.#event(event)))
  }

  #event({ event, data }: SseEvent): Chunk[] {
    const words = data.trim()
    if (words === '') return []
    if (words === '[DONE]') return this.#last(true)
    const answer = parseJson(words)
    if (!isObject(answer)) return this.#fail('garbage', 'The stream of the provider holds something that is no chunk.')
    if (answer['error'] || event === 'error') {
      this.#over = true
      return [{ type: 'error', error: readStreamFault(answer['error'] ?? answer) }]
    }
    return this.#message.read(answer)
  }

  #last(complete: boolean): Chunk[] {
    this.#over = true
    return this.#message.end(complete)
  }

  #fail(kind: 'garbage', message: string): Chunk[] {
    this.#over = true
    return [{ type: 'error', error: { kind, message } }]
  }

  #guard(read: () => Chunk[]): Chunk[] {
    if (this.#over) return []
    try {
      return read()
    } catch (error) {
      if (error instanceof RangeError) return this.#fail('garbage', `The provider sent too much: ${error.message}.`)
      throw error
    }
  }
}
