// The common parts of all loopback vendors: how a test scripts one and what it writes down.
import type { IncomingHttpHeaders } from 'node:http'

// Bodies on a wire, checked by each vendor's rules.
export type Json = Record<string, any>

export type Vendor = {
  /** `http://127.0.0.1:<port>`, without a path. */
  origin: string
  /** A key the vendor accepts. */
  key: string
  /** Every request whose body was read (or cut off), oldest first. */
  requests: RecordedRequest[]
  /** Queues behaviours; each is used by one request (see `on` and `times`). */
  script(...next: Behaviour[]): void
  /** Drops what is still scripted. */
  unscript(): void
  /** The number of scripted uses that are left; `Infinity` when one repeats for ever. */
  pending(): number
  /** Puts something into the account of a key (the vendor's first by default); its id. Throws for kinds it does not keep. */
  keep(thing: { kind: string; text: string; key?: string | undefined }): string
  /** The n-th request (0 = first), as soon as it has arrived. */
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
  /** The body as JSON; throws when it is none. */
  json(): Json
  /** The client left before its answer was complete. */
  aborted: boolean
  /** Milliseconds since the epoch, when the request line arrived. */
  at: number
  /** The part that reached the model; undefined when the vendor refused the request before. */
  seen?: ModelInput | undefined
  /** Resolves when the answer is complete or the client is gone. */
  ended: Promise<void>
}

/** A request as the vendor's model gets it, which is not always as it was sent. */
export type ModelInput = {
  /** In the vendor's shape: what it drops is gone, and what it stored and was named by an id stands in its place. */
  messages: Json[]
  /** Output tokens, from the field that the vendor reads; undefined: nothing bounds the answer. */
  limit: number | undefined
  /** The things that lay at the vendor and were read for this request. */
  read: StoredObject[]
}

/** Something that lies at a vendor, in the account of a key: a file, a container, a store of vectors. */
export type StoredObject = { kind: string; id: string; key: string; text: string }

export type Behaviour = {
  /** The model talks for this many tokens (of one word each), or until the limit that the vendor read. */
  talks?: number | undefined
  /** The model's words. Default: the last user text, or a call of the tool the request forces. */
  reply?: Reply | undefined
  usage?: Usage | undefined
  /** The vendor's own finish word, as it is; default follows from the reply. */
  finish?: string | undefined
  /** Anthropic only: the stop sequence that was hit (finish becomes `stop_sequence`). */
  stopSequence?: string | undefined
  /** The vendor refuses for a reason that does not pass by itself, or (`throttle`) soon does, in its own words. */
  refuses?: Refusal | undefined
  /** An error before the first byte, in the vendor's envelope. */
  status?: number | undefined
  type?: string | undefined
  code?: string | undefined
  message?: string | undefined
  headers?: Record<string, string> | undefined
  /** The stream breaks in the vendor's way; a non-stream request gets the same error as a status. */
  midStreamError?: true | MidStreamError | undefined
  /** `true`: never a byte. `mid-stream`: half of the answer, then silence. */
  hang?: true | 'mid-stream' | undefined
  delayMs?: number | undefined
  perChunkDelayMs?: number | undefined
  garbage?: Garbage | undefined
  /** Sends the answer's bytes in pieces of this many bytes, through the middle of characters too. */
  chunking?: number | undefined
  /** Vendors of pictures, sound and video only. */
  media?: Making | undefined
  /** `POST /v1/models`, `GET /v1/videos/*`: only requests for this route use it. Default: any POST. */
  on?: string | undefined
  /** Anthropic only: every thread is lost before this request is read. */
  forgets?: true | undefined
  /** The number of requests that use it; default 1. */
  times?: number | undefined
}

/**
 * key: it does not know the key. permission: the key may not do this. quota: what the account may use or pay is used up.
 * throttle: too fast.
 */
export type Refusal = 'key' | 'permission' | 'quota' | 'throttle'

export type MidStreamError = {
  status?: number | undefined
  type?: string | undefined
  code?: string | undefined
  message?: string | undefined
  /** Frames with content sent before the error (the stream's opening not counted); default: half of them. */
  after?: number | undefined
  /** OpenAI's responses only: the last event; default `failed`. */
  as?: 'failed' | 'error' | undefined
}

/**
 * not json: a frame (or the whole body) does not parse. wrong types: it parses, but numbers are strings and texts are
 * numbers. truncated: half of the bytes, through the middle of a frame, then a clean end. closes socket: the same, then
 * the connection breaks. no answer: the connection breaks before the first byte.
 */
export type Garbage = 'not json' | 'wrong types' | 'truncated' | 'closes socket' | 'no answer'

export type Reply =
  | string
  | {
      text?: string | undefined
      reasoning?: string | undefined
      /** Of the thinking block; a made-up one by default. */
      signature?: string | undefined
      refusal?: string | undefined
      /** The sources that the text stands on; places count characters of the text. */
      citations?: Citation[] | undefined
      tools?: ToolCall[] | undefined
    }

export type Citation = { url: string; title: string; start_index: number; end_index: number }

export type ToolCall = {
  id?: string | undefined
  name: string
  /** A string goes out as it is (also broken JSON); anything else as its JSON. */
  arguments?: unknown
}

/** What comes of a request for a picture, sound, video or transcript. */
export type Making = {
  /** The vendor's moderation turns it down in its own way: at once, or the job ends so. */
  moderated?: true | undefined
  /** `WxH` of the picture or video; default: as asked. */
  size?: string | undefined
  /** The length of the sound or video; default: as asked, or as the text or the sound sent is long. */
  seconds?: number | undefined
  /** The words of a transcript. */
  text?: string | undefined
  spoiled?: Damage | undefined
  link?: LinkScript | undefined
  job?: JobScript | undefined
}

/** The bytes in place of the file. cut: its first half. json: a note, where a picture or a sound was due. */
export type Damage = 'empty' | 'web page' | 'json' | 'cut'

/**
 * expired: it was good only until it was asked for. keyed: it has the caller's key in it. moved: it leads on to another
 * origin, where it lies at the vendor. asked: what a download meets.
 */
export type LinkScript = {
  expired?: true | undefined
  keyed?: true | undefined
  moved?: true | undefined
  asked?: Behaviour | undefined
}

export type JobScript = {
  /** The polls that find it unfinished; default 1, Infinity: never done. */
  polls?: number | undefined
  /** Default: done. */
  ends?: 'failed' | undefined
  /** Where a job can be cancelled: confirmed at once (default), refused, or taken and forgotten. */
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
  /** More keys that it accepts, each an account of its own. */
  keys?: string[] | undefined
  /** For requests with nothing scripted. */
  otherwise?: Behaviour | undefined
}
