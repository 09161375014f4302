// Common parts of all loopback vendors: how tests script them, and what they record.
import type { IncomingHttpHeaders } from 'node:http'

// Bodies, checked by each vendor's rules.
export type Json = Record<string, any>

export type Vendor = {
  /** `http://127.0.0.1:<port>`, without a path. */
  origin: string
  /** A key that the vendor accepts. */
  key: string
  /** All requests whose body was read (or cut off), oldest first. */
  requests: RecordedRequest[]
  /** Queues behaviors; each is used by one request (see `on` and `times`). */
  script(...next: Behaviour[]): void
  /** Drops the remaining script. */
  unscript(): void
  /** The number of remaining scripted uses; `Infinity` if one repeats forever. */
  pending(): number
  /**
   * Puts an object into the account of a key (the vendor's first by default) and returns its ID. Throws for unsupported
   * kinds.
   */
  keep(thing: { kind: string; text: string; key?: string | undefined }): string
  /** Resolves with the n-th request (0 = first) once it has arrived. */
  arrival(index?: number): Promise<RecordedRequest>
  [Symbol.asyncDispose](): Promise<void>
}

export type RecordedRequest = {
  method: string
  /** Without the query. */
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: Buffer
  /** Throws if the body isn't JSON. */
  json(): Json
  /** The client disconnected before its answer was complete. */
  aborted: boolean
  /** Milliseconds since the epoch, when the request line arrived. */
  at: number
  /** The model's input; undefined: the vendor refused the request first. */
  seen?: ModelInput | undefined
  /** Resolves when the answer is complete or the client is disconnected. */
  ended: Promise<void>
}

/** The model's input, which may differ from the request. */
export type ModelInput = {
  /** In the vendor's shape: without what it drops, and with stored objects in place of their IDs. */
  messages: Json[]
  /** Output tokens, from the field that the vendor reads; undefined: no limit. */
  limit: number | undefined
  /** The stored objects that were read for this request. */
  read: StoredObject[]
}

/** An object stored at a vendor in the account of a key: a file, a container, a vector store. */
export type StoredObject = { kind: string; id: string; key: string; text: string }

export type Behaviour = {
  /** The model writes this many tokens (of one word each), or up to the limit that the vendor read. */
  talks?: number | undefined
  /** The model's output. Default: the last user text, or a call of the tool that the request forces. */
  reply?: Reply | undefined
  usage?: Usage | undefined
  /** The vendor's own finish reason, unchanged; default follows from the reply. */
  finish?: string | undefined
  /** Anthropic only: the matched stop sequence (finish becomes `stop_sequence`). */
  stopSequence?: string | undefined
  /** Refuses with the vendor's own error, permanently or (`throttle`) temporarily. */
  refuses?: Refusal | undefined
  /** An error before the first byte, in the vendor's envelope. */
  status?: number | undefined
  type?: string | undefined
  code?: string | undefined
  message?: string | undefined
  headers?: Record<string, string> | undefined
  /** The stream breaks in the vendor's way; a non-stream request gets the same error as a status. */
  midStreamError?: true | MidStreamError | undefined
  /** `true`: no bytes at all. `mid-stream`: half of the answer, then silence. */
  hang?: true | 'mid-stream' | undefined
  delayMs?: number | undefined
  perChunkDelayMs?: number | undefined
  garbage?: Garbage | undefined
  /** Sends the answer in pieces of this many bytes, also through the middle of characters. */
  chunking?: number | undefined
  /** Only for image, audio, and video vendors. */
  media?: Making | undefined
  /** Restricts the behavior to this route, such as `POST /v1/models` or `GET /v1/videos/*`. Default: any POST. */
  on?: string | undefined
  /** Anthropic only: drops every thread before this request is read. */
  forgets?: true | undefined
  /** The number of requests that use it; default 1. */
  times?: number | undefined
}

/**
 * key: unknown key. permission: the key lacks a permission. quota: the account has nothing left. throttle: too many
 * requests.
 */
export type Refusal = 'key' | 'permission' | 'quota' | 'throttle'

export type MidStreamError = {
  status?: number | undefined
  type?: string | undefined
  code?: string | undefined
  message?: string | undefined
  /** Content frames before the error (not counting the stream's opening); default: half of them. */
  after?: number | undefined
  /** OpenAI's responses only: the last event; default `failed`. */
  as?: 'failed' | 'error' | undefined
}

/**
 * not json: a frame (or the whole body) doesn't parse. wrong types: it parses, but numbers are strings and texts are
 * numbers. truncated: half of the bytes, through the middle of a frame, then a normal end. closes socket: the same,
 * then the connection breaks. no answer: the connection breaks before the first byte.
 */
export type Garbage = 'not json' | 'wrong types' | 'truncated' | 'closes socket' | 'no answer'

export type Reply =
  | string
  | {
      text?: string | undefined
      reasoning?: string | undefined
      /** Signature of the thinking block; generated by default. */
      signature?: string | undefined
      refusal?: string | undefined
      /** The sources of the text; offsets count characters of the text. */
      citations?: Citation[] | undefined
      tools?: ToolCall[] | undefined
    }

export type Citation = { url: string; title: string; start_index: number; end_index: number }

export type ToolCall = {
  id?: string | undefined
  name: string
  /** A string is sent unchanged (also broken JSON); anything else as its JSON. */
  arguments?: unknown
}

/** The result of a request for an image, audio, video, or transcript. */
export type Making = {
  /** The vendor's moderation refuses in its own way: at once, or when the job ends. */
  moderated?: true | undefined
  /** `WxH` of the image or video; default: as requested. */
  size?: string | undefined
  /** The length of the audio or video; default: as requested, or as long as the input. */
  seconds?: number | undefined
  /** The words of a transcript. */
  text?: string | undefined
  spoiled?: Damage | undefined
  link?: LinkScript | undefined
  job?: JobScript | undefined
}

/** Bytes that replace the file. cut: its first half. json: an object instead of an image or audio. */
export type Damage = 'empty' | 'web page' | 'json' | 'cut'

/**
 * expired: it expires right after it was requested. keyed: it contains the caller's key. moved: it redirects to another
 * origin. asked: the behavior of a download.
 */
export type LinkScript = {
  expired?: true | undefined
  keyed?: true | undefined
  moved?: true | undefined
  asked?: Behaviour | undefined
}

export type JobScript = {
  /** The number of polls before it is finished; default 1, Infinity: never. */
  polls?: number | undefined
  /** Default: done. */
  ends?: 'failed' | undefined
  /** Whether a job can be canceled: confirmed at once (default), refused, or accepted and ignored. */
  cancel?: 'refused' | 'ignored' | undefined
}

/** In tokens. `input` includes `cached` and `cacheWrite`, `output` includes `reasoning`: each vendor converts. */
export type Usage = {
  input?: number | undefined
  output?: number | undefined
  cached?: number | undefined
  cacheWrite?: number | undefined
  reasoning?: number | undefined
  /** OpenRouter: US dollars. */
  cost?: number | undefined
}

export type Options<Model> = {
  /** Replaces the vendor's list of models. */
  models?: Model[] | undefined
  key?: string | undefined
  /** More accepted keys, each with a separate account. */
  keys?: string[] | undefined
  /** For requests without a script. */
  otherwise?: Behaviour | undefined
}
