/** Answers as a handler hands them over, before a face writes them: pages, bytes, events, feeds. */

import type { Scope } from './scopes.ts'

export interface Page<T> {
  rows: T[]
  /** The start of the next page, or null at the end. */
  next: string | null
  /** Further top-level keys of the list envelope. */
  extra?: Record<string, unknown>
}
export interface Results<T> {
  items: T[]
  total_count: number
  query: string | null
  applied_filters: Record<string, unknown>
}
/** An operation's row, as a handler hands it over when the work goes on in the background. */
export interface Background {
  operation: Record<string, unknown>
}
/** Bytes on their way out. */
export interface Bytes {
  status?: number
  headers: Record<string, string>
  body: AsyncIterable<Uint8Array> | Uint8Array | string | null | StoredBytes
}
/** Bytes that are stored: a part of them may be asked for, or only whether they are still the same. */
export interface StoredBytes {
  size: number
  /** A strong entity tag, quotes included. */
  etag: string
  modifiedAt: Date
  /** Reads from `start` to before `end`. A part holds only until the next is asked for. */
  read(range: { start: number; end: number }): AsyncIterable<Uint8Array>
}
export const isStored = (body: Bytes['body']): body is StoredBytes =>
  body !== null && typeof body === 'object' && 'etag' in body
/** A server-sent event; `id` lets the reader resume. */
export interface Event<D = unknown> {
  id?: string
  event: string
  data: D
}

/** The answer to a call by an endpoint's name for callers in this process: the agent tool, and runs of agents. */
export type EndpointReply =
  | { kind: 'json'; body: Record<string, unknown> }
  /** `ended` fires when the caller leaves, the server closes, or, with a Refusal as its reason, its rights end. */
  | { kind: 'stream'; events: AsyncIterable<Event>; ended: AbortSignal }
  | { kind: 'bytes'; bytes: Bytes }
  | { kind: 'none' }
/** The endpoint that a call of the agent tool by some name would reach. */
export interface ToolTarget {
  /** `find`, `describe`, `do`, or an endpoint's name. */
  tool: string
  /** The endpoint that is called in the end; null where none is, or none of that name. */
  endpoint: string | null
  /** The call may be repeated: to do it twice is as good as once. */
  repeatable: boolean
  /** A person has to agree to each call of it, who must be allowed this much; null: its policy alone decides. */
  consent: { scope: Scope | null } | null
}

/** Writes an event as server-sent events do; JSON has no raw line breaks, so `data` is one line. */
export const encodeEvent = ({ id, event, data }: Event): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** Events that go to many readers at once: as bytes of server-sent events, which all of them share, or one by one. */
export interface EventBatch {
  readonly bytes: Uint8Array
  events(): readonly Event[]
}
/** The receiver of a feed: one reader, whatever carries it there. */
export interface Sink {
  /** Answers how many bytes are unread, these included. */
  write(batch: EventBatch): number
  /** Resolves when what is unread was taken, the reader has left, or it was given up as too slow. */
  drained(): Promise<void>
  /** Ends the feed; its reader is to resume elsewhere. */
  end(): void
  /** The feed's knowledge of the reader's rights may be old: they are looked at again, and the feed hears of it. */
  recheck(): Promise<void>
}
/**
 * A stream whose events many readers share: each is written out once and sent to all as the same bytes. `attach` may be
 * called once, and then nobody iterates.
 */
export interface Feed extends AsyncIterable<Event> {
  attach(sink: Sink): Disposable
  /** A right of the reader changed and the endpoint is still permitted; the context has its rights as they are now. */
  recheck(ctx: unknown): Promise<void>
}
export const isFeed = (events: AsyncIterable<Event>): events is Feed => 'attach' in events

/**
 * The events that a source gives, which is disposed once their reader leaves, also before it has asked for the first one: a
 * generator that was never begun has no `finally`.
 */
export const eventsOf = (
  source: AsyncDisposable,
  events: AsyncGenerator<Event, void, undefined>,
): AsyncIterable<Event> => ({
  [Symbol.asyncIterator]: () => ({
    next: () => events.next(),
    async return() {
      await source[Symbol.asyncDispose]()
      await events.return()
      return { done: true, value: undefined }
    },
  }),
})
