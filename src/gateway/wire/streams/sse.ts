import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'

export interface SseEvent {
  event: string
  data: string
}

/** Large enough for an image or the arguments of a whole file, but bounded. */
const LARGEST_EVENT = 64 * 1024 * 1024

/**
 * Accepts bytes cut anywhere. Comments, fields other than `event` and `data`, and events without data are dropped.
 * Throws a RangeError when one event exceeds 64 Mi characters.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class SseReader {
  readonly #decoder = new StringDecoder('utf8')
  readonly #parser = createParser({
    onEvent: ({ event = '', data }) => void this.#events.push({ event, data }),
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') throw new RangeError('an event of the stream is too large')
    },
    maxBufferSize: LARGEST_EVENT,
  })
  #events: SseEvent[] = []
  #atStart = true

  feed(bytes: Uint8Array): SseEvent[] {
    return this.#take(this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
  }

  /** For providers that forget the final blank line. */
  end(): SseEvent[] {
    return this.#take(`${this.#decoder.end()}\n\n`)
  }

  #take(text: string): SseEvent[] {
    if (text === '') return []
    this.#parser.feed(this.#atStart && text.startsWith('\uFEFF') ? text.slice(1) : text)
    this.#atStart = false
    return this.#events.splice(0)
  }
}
