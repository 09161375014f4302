import type { TokensOfMedia } from './cost/cost.ts'
import type { Usage } from '#core/usage.ts'

/**
 * The middle of every translation: a CanonicalRequest goes in, Chunks come out. N client shapes and M provider shapes need
 * N + M converters, each pure: `decode` (client → CanonicalRequest), `encode` (CanonicalRequest → provider), and for the answer the
 * same pair the other way round over Chunks. Same shape in and out never passes through here: its bytes travel on. A type and no
 * interface, so that it is an object of fields to whoever weighs or summarises any shape.
 */
export type CanonicalRequest = {
  model: string
  /** System messages stand where they stood; a shape that wants them elsewhere moves them. */
  messages: CanonicalMessage[]
  max_output_tokens?: number
  temperature?: number
  top_p?: number
  top_k?: number
  frequency_penalty?: number
  presence_penalty?: number
  stop?: string[]
  seed?: number
  n?: number
  tools?: Tool[]
  tool_choice?: 'auto' | 'required' | 'none' | { name: string }
  parallel_tool_calls?: boolean
  response_format?:
    | { type: 'text' }
    | { type: 'json_object' }
    | { type: 'json_schema'; name: string; schema: object; strict?: boolean }
  reasoning?: {
    effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
    max_tokens?: number
    exclude?: boolean
  }
  verbosity?: 'low' | 'medium' | 'high'
  /** The answer may hold these besides its words, or instead of them; absent: what the model makes by itself. */
  modalities?: Modality[]
  /** The sound that is wanted in the answer: OpenAI's words for formats, a voice by the provider's name. */
  audio?: { format: string; voice?: string }
  /** The pictures that are wanted in the answer, in OpenRouter's words: `16:9`, `1K`. */
  image_config?: { aspect_ratio?: string; image_size?: string }
  /** Everything up to the last part that can be cached is worth caching for so long. */
  cache?: CacheMark
  /** Requests of one key are likely to share what a vendor keeps of their beginning: no loss where a vendor keeps nothing. */
  cache_key?: string
  /** How OpenAI caches the prompt: its mode and lifetime, and how long the cache is kept. */
  prompt_cache_options?: Record<string, unknown>
  prompt_cache_retention?: string
  /** Labels for the vendor's records. */
  metadata?: Record<string, unknown>
  /** An opaque name of the end user, for the vendor's abuse checks. */
  user?: string
}

export type Modality = 'text' | 'image' | 'audio'

export interface CanonicalMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: CanonicalPart[]
  /** Tells participants of the same role apart. */
  name?: string
}

export type CanonicalPart =
  | { type: 'text'; text: string; cache?: CacheMark; citations?: Citation[] }
  | { type: 'image'; source: MediaSource; detail?: PictureDetail; cache?: CacheMark }
  | { type: 'file'; source: MediaSource; name?: string; cache?: CacheMark }
  /** `signature` and `redacted` are opaque and must come back byte for byte; `format` names whose they are. */
  | { type: 'reasoning'; text: string; signature?: string; redacted?: string; format?: string; id?: string }
  /** `arguments` is the JSON text as the model wrote it, valid or not. */
  | { type: 'tool_call'; id: string; name: string; arguments: string; cache?: CacheMark }
  /** Stands in a message of role `tool`; one such message may hold the results of several calls. */
  | { type: 'tool_result'; id: string; content: CanonicalPart[]; is_error: boolean; cache?: CacheMark }

/** How finely a picture is read, in OpenAI's words. */
export type PictureDetail = 'auto' | 'low' | 'high' | 'original'

/** The source that a stretch of an answer stands on. */
export interface Citation {
  url?: string
  title?: string
  /** The cited text, as it stands in the source. */
  quote?: string
  /** Characters of all the text of the answer, from the first one to behind the last one. */
  start: number
  end: number
  /** Anthropic's own form of it, which its clients send back. */
  native?: Record<string, unknown>
}

/** The prompt up to here is worth caching for so long. */
export type CacheMark = '5m' | '1h'

export type MediaSource = { kind: 'base64'; media_type: string; data: string } | { kind: 'url'; url: string }

export interface Tool {
  name: string
  description?: string
  /** JSON Schema of the arguments. */
  parameters: object
  strict?: boolean
  cache?: CacheMark
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

/**
 * A piece of a model's answer. Text and tool calls may interleave; a tool call's deltas name its id.
 * A reader's chunks hold whole code points and its last one is a `finish`, before which every tool call has ended, or an `error`.
 */
export type Chunk =
  | { type: 'start'; id: string; model: string }
  | { type: 'text'; text: string }
  /** A whole picture. */
  | { type: 'image'; source: MediaSource }
  | ({ type: 'audio' } & SoundPiece)
  /** A citation of text that has been said. */
  | { type: 'citation'; citation: Citation }
  | { type: 'reasoning'; text: string }
  | { type: 'reasoning_end'; signature?: string; redacted?: string; format?: string; id?: string }
  | { type: 'tool_call_start'; id: string; name: string }
  | { type: 'tool_call_delta'; id: string; delta: string }
  | { type: 'tool_call_end'; id: string }
  /**
   * Cumulative: the last one holds, and is whole once `finish` has come. `cost_usd` only where the provider reports one,
   * `media` where it says how many of the tokens were sound or pictures.
   */
  | { type: 'usage'; usage: Usage; cost_usd?: number; media?: TokensOfMedia }
  | { type: 'finish'; reason: FinishReason; native: string | null; stop_sequence?: string }
  /** A part of a kind that has no chunk: it is named to whoever cannot be shown it. */
  | { type: 'lost'; name: Loss }
  | { type: 'error'; error: UpstreamFault }

/** A stretch of the sound of an answer, with the words that are said in it. */
export interface SoundPiece {
  /** Bytes in base64, each piece padded for itself. */
  data: string
  transcript: string
  /** The vendor's name of the sound; empty: it has none. */
  id: string
  /** Seconds since 1970; null: the vendor keeps nothing of it. */
  expires_at: number | null
  /** Hertz of bare 16 bit mono samples, little endian; null: the bytes are in the format that was asked for. */
  rate: number | null
}

/** The reasons why an upstream call fails, as the router and the surfaces need to know it (`compat.md`, part 6). */
export const faultKinds = [
  'bad_request',
  'context_length',
  'upstream_key',
  'upstream_payment',
  'model_not_found',
  'too_large',
  'rate_limited',
  'overloaded',
  'server_error',
  'timeout',
  'unreachable',
  'garbage',
  /** The endpoint was disabled or deleted while it was asked: nothing of the provider's. */
  'withdrawn',
] as const
export type FaultKind = (typeof faultKinds)[number]

export interface UpstreamFault {
  kind: FaultKind
  /** The provider's own sentence, safe to show: never holds a key. */
  message: string
  /** HTTP status that the provider answered with, if it did. */
  status?: number
  /** The provider's word for what is wrong with the request, and the field that is at fault. */
  code?: string
  param?: string
  /** Further fields of the provider's error, for clients that act on them. */
  details?: Readonly<Record<string, unknown>>
  /** The fault lasts, though its kind mostly passes. */
  lasts?: true
  /** Of `upstream_payment`: the rest of the account at the provider pays for smaller requests. */
  affordsLess?: true
  /** Seconds after which the provider wants to be asked again. */
  retry_after_seconds?: number
  /** The provider at fault, and the answers of those asked before. */
  provider?: string
  previous?: readonly { provider: string; message: string; status: number | null }[]
}

/** A thing that a translation could not carry, by the name of the field in the client's request. */
export type Loss = string
