import { type Bytes, type EndpointReply, type Event, isFeed } from '#core/answers.ts'
import type { Entrance } from '../entrance.ts'
import type { Ready } from '../invoke.ts'
import { envelope } from '../rest/reply.ts'
import { Watch } from '../watch.ts'

type WatchParts = Pick<Entrance, 'authority' | 'line'>

/** The key and connection to recheck while a stream is read, and what ends the stream. */
interface Watched {
  key: string
  connection: object
  over: AbortController
}

export function replyTo(parts: WatchParts, ready: Ready, result: unknown, watched: Watched): EndpointReply {
  const { endpoint } = ready.entry
  switch (endpoint.reply.kind) {
    case 'stream':
      return {
        kind: 'stream',
        events: watchEvents(parts, ready, result as AsyncIterable<Event>, watched),
        ended: watched.over.signal,
      }
    case 'bytes':
      return { kind: 'bytes', bytes: result as Bytes }
    case 'none':
      return { kind: 'none' }
    default:
      return { kind: 'json', body: envelope(endpoint.reply, result, ready.input) as Record<string, unknown> }
  }
}

async function* watchEvents(
  { authority, line }: WatchParts,
  ready: Ready,
  events: AsyncIterable<Event>,
  { key, connection, over }: Watched,
): AsyncGenerator<Event> {
  using _watch = new Watch(
    authority,
    line,
    { start: ready.ctx, entry: ready.entry, input: ready.input, credential: key, connection },
    {
      close: (why) => over.abort(why),
      async onPermitted(ctx) {
        if (isFeed(events)) await events.recheck(ctx)
      },
    },
  )
  yield* events
}
