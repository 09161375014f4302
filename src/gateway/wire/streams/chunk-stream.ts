import { excessOf } from '#packages/json-scan/json-text.ts'
import type { Chunk } from '../../model/canonical-request.ts'
import { type SseEvent, SseReader } from './sse.ts'

/** Limit per stream; the input of a tool call may come as free text that waits for its end. */
const MAX_SILENT_EVENTS = 300_000
const MAX_SILENT_CHARACTERS = 96 << 20
/** Limits per event. */
const MAX_VALUES = 200_000
const DEEPEST = 512

/** Accepts bytes cut anywhere. The last chunk is always one `finish` or one `error`; nothing follows it. */
export abstract class ChunkStream {
  readonly #sse = new SseReader()
  #over = false
  #silentEvents = 0
  #silentCharacters = 0

  protected abstract event(event: SseEvent): Chunk[]
  /** For a connection that closes without a final event. */
  protected abstract last(): Chunk[]

  feed(bytes: Uint8Array): Chunk[] {
    return this.#guard(() => this.#read(this.#sse.feed(bytes)))
  }

  end(): Chunk[] {
    return this.#guard(() => {
      const chunks = this.#read(this.#sse.end())
      return this.#over ? chunks : [...chunks, ...this.#said(this.last())]
    })
  }

  #read(events: SseEvent[]): Chunk[] {
    return events.flatMap((event) => (this.#over ? [] : this.#said(this.#bounded(event))))
  }

  #bounded(event: SseEvent): Chunk[] {
    const excess = excessOf(event.data, { values: MAX_VALUES, depth: DEEPEST })
    if (excess !== null) return [malformedChunk(`The provider sent an event with ${excess}.`)]
    const chunks = this.event(event)
    if (chunks.length > 0) return chunks
    this.#silentCharacters += event.data.length
    if (++this.#silentEvents > MAX_SILENT_EVENTS)
      return [malformedChunk(`The provider sent more than ${MAX_SILENT_EVENTS} events without content.`)]
    return this.#silentCharacters > MAX_SILENT_CHARACTERS
      ? [malformedChunk(`The provider sent more than ${MAX_SILENT_CHARACTERS} characters without content.`)]
      : chunks
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
        return this.#said([malformedChunk(`The provider sent too much data: ${error.message}.`)])
      throw error
    }
  }
}

export const malformedChunk = (message: string): Chunk => ({ type: 'error', error: { kind: 'garbage', message } })
/** `spoke`: part of an answer had arrived. */
export const brokenOffChunk = (spoke: boolean): Chunk =>
  malformedChunk(spoke ? 'The provider’s response ended early.' : 'The provider ended the stream without a response.')
