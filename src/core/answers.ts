import type { Scope } from './scopes.ts'

export interface Page<T> {
  rows: T[]
  /** Null on the last page. */
  next: string | null
  extra?: Record<string, unknown>
}
export interface Results<T> {
  items: T[]
  total_count: number
  query: string | null
  applied_filters: Record<string, unknown>
}
export interface Background {
  operation: Record<string, unknown>
}
export interface Bytes {
  status?: number
  headers: Record<string, string>
  body: AsyncIterable<Uint8Array> | Uint8Array | string | null | StoredBytes
}
export interface StoredBytes {
  size: number
  /** A strong entity tag, quotes included. */
  etag: string
  modifiedAt: Date
  /** Reads from `start` up to but not including `end`. A chunk is valid only until the next request. */
  read(range: { start: number; end: number }): AsyncIterable<Uint8Array>
}
export const isStored = (body: Bytes['body']): body is StoredBytes =>
  body !== null && typeof body === 'object' && 'etag' in body
/** `id` lets the client resume. */
export interface Event<D = unknown> {
  id?: string
  event: string
  data: D
}

/** The result of an endpoint called by name within this process: by the agent tool and by agents' runs. */
export type EndpointReply =
  | { kind: 'json'; body: Record<string, unknown> }
  /**
   * `ended` fires when the caller leaves, the server closes, or (with a `Refusal` as its reason) the caller's access
   * ends.
   */
  | { kind: 'stream'; events: AsyncIterable<Event>; ended: AbortSignal }
  | { kind: 'bytes'; bytes: Bytes }
  | { kind: 'none' }
export interface ToolTarget {
  /** `find`, `describe`, `do`, or an endpoint's name. */
  tool: string
  endpoint: string | null
  /** Repeating the call is safe. */
  repeatable: boolean
  /** Every call needs approval by a person who has this scope. Null: the tool's policy decides. */
  consent: { scope: Scope | null } | null
}

/** JSON contains no raw line breaks, so `data` is one line. */
export const encodeEvent = ({ id, event, data }: Event): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** Events for many readers: as shared bytes in server-sent-event form, or one by one. */
export interface EventBatch {
  readonly bytes: Uint8Array
  events(): readonly Event[]
}
export interface Sink {
  write(batch: EventBatch): number
  /** Resolves when all bytes were read, the reader left, or it was dropped as too slow. */
  drained(): Promise<void>
  /** Ends the feed; the reader resumes on another server. */
  end(): void
  recheck(): Promise<void>
}
/**
 * A stream shared by many readers: each event is encoded once. Call `attach` once, and don't iterate as well.
 */
export interface Feed extends AsyncIterable<Event> {
  attach(sink: Sink): Disposable
  /** Called when the reader's permissions changed and it may still read; `ctx` carries the current permissions. */
  recheck(ctx: unknown): Promise<void>
}
export const isFeed = (events: AsyncIterable<Event>): events is Feed => 'attach' in events

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
