import { type EventSourceMessage, createParser } from 'eventsource-parser'

export interface Received {
  /** The newest that the stream has named so far: where to go on from. */
  id?: string
  event: string
  data: unknown
}

/**
 * Server-sent events out of bytes, however they are cut; `data` is parsed as JSON. Comments are heartbeats and vanish.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Received> {
  const decoder = new TextDecoder()
  const read: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void read.push(event) })
  let id: string | undefined
  for await (const part of body) {
    parser.feed(decoder.decode(part, { stream: true }))
    for (const { event = 'message', data, id: named } of read.splice(0)) {
      id = named ?? id
      yield { ...(id !== undefined && { id }), event, data: JSON.parse(data) }
    }
  }
}
