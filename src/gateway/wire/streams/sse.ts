import { StringDecoder } from 'node:string_decoder'

export interface SseEvent {
  /** Empty where the stream names none. */
  event: string
  data: string
}

/** One event may hold a whole image or a whole file's worth of arguments, but not grow for ever. */
const LARGEST_EVENT = 64 * 1024 * 1024

/**
 * Server-sent events from bytes cut anywhere: inside a character, a line end, an event. Lines end with LF, CRLF or
 * CR; comments and fields other than `event` and `data` are dropped, and so is an event without data.
 * Throws a RangeError when one event is larger than 64 Mi characters.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class SseReader {
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''
  #atStart = true
  #afterCr = false
  #event = ''
  #data: string[] = []
  #size = 0

  feed(bytes: Uint8Array): SseEvent[] {
    return this.#take(this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)))
  }

  /** What a provider that forgot the last blank line still had to say. */
  end(): SseEvent[] {
    return this.#take(`${this.#decoder.end()}\n\n`)
  }

  #take(text: string): SseEvent[] {
    const events: SseEvent[] = []
    let from = 0
    if (text !== '' && this.#atStart) {
      this.#atStart = false
      if (text.startsWith('\uFEFF')) from = 1
    }
    if (from < text.length && this.#afterCr) {
      if (text[from] === '\n') from++
      this.#afterCr = false
    }
    for (;;) {
      const end = lineEnd(text, from)
      if (end === -1) break
      this.#line(this.#rest + text.slice(from, end), events)
      this.#rest = ''
      from = end + 1
      if (text[end] !== '\r') continue
      if (from === text.length) this.#afterCr = true
      else if (text[from] === '\n') from++
    }
    this.#rest += text.slice(from)
    this.#bound(this.#rest.length)
    return events
  }

  #line(line: string, events: SseEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0) events.push({ event: this.#event, data: this.#data.join('\n') })
      this.#event = ''
      this.#data = []
      this.#size = 0
      return
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#event = value
    if (field !== 'data') return
    this.#data.push(value)
    this.#size += value.length
    this.#bound(this.#size)
  }

  #bound(size: number): void {
    if (size > LARGEST_EVENT) throw new RangeError('an event of the stream is too large')
  }
}

function lineEnd(text: string, from: number): number {
  const lf = text.indexOf('\n', from)
  const cr = text.indexOf('\r', from)
  if (lf === -1) return cr
  return cr === -1 ? lf : Math.min(lf, cr)
}
