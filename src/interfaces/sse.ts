import { type EventSourceMessage, createParser } from 'eventsource-parser'

export interface Received {
  /** The last event ID so far, to resume from. */
  id?: string
  event: string
  data: unknown
}

/**
 * Parses server-sent events from bytes split anywhere; `data` is parsed as JSON. Comments (heartbeats) are dropped.
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
