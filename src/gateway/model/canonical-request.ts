import type { TokensOfMedia } from './cost/cost.ts'
import type { Usage } from '#core/usage.ts'

/**
 * The middle of every translation: CanonicalRequest in, Chunks out. N client shapes and M provider shapes need N + M
 * pure converters: `decode` (client → CanonicalRequest), `encode` (CanonicalRequest → provider), and the reverse pair
 * for answers over Chunks. Calls with the same shape on both sides skip this: their bytes pass through. A type rather
 * than an interface, so that functions for any JSON object accept it.
 */
export type CanonicalRequest = {
  model: string
  /** System messages keep their position; shapes that require another place move them. */
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
  modalities?: Modality[]
  audio?: { format: string; voice?: string }
  /** Requested image output, in OpenRouter's terms: `16:9`, `1K`. */
  image_config?: { aspect_ratio?: string; image_size?: string }
  cache?: CacheMark
  /** Requests with the same key probably share a cached prefix. */
  cache_key?: string
  prompt_cache_options?: Record<string, unknown>
  prompt_cache_retention?: string
  metadata?: Record<string, unknown>
  user?: string
}

export type Modality = 'text' | 'image' | 'audio'

export interface CanonicalMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: CanonicalPart[]
  name?: string
}

export type CanonicalPart =
  | { type: 'text'; text: string; cache?: CacheMark; citations?: Citation[] }
  | { type: 'image'; source: MediaSource; detail?: PictureDetail; cache?: CacheMark }
  | { type: 'file'; source: MediaSource; name?: string; cache?: CacheMark }
  /** `signature` and `redacted` are opaque and must come back byte for byte; `format` names their vendor. */
  | { type: 'reasoning'; text: string; signature?: string; redacted?: string; format?: string; id?: string }
  /** `arguments` is the JSON text as the model wrote it, valid or not. */
  | { type: 'tool_call'; id: string; name: string; arguments: string; cache?: CacheMark }
  /** Part of a message of role `tool`, which may hold the results of several calls. */
  | { type: 'tool_result'; id: string; content: CanonicalPart[]; is_error: boolean; cache?: CacheMark }

/** Image resolution for the model, in OpenAI's terms. */
export type PictureDetail = 'auto' | 'low' | 'high' | 'original'

export interface Citation {
  url?: string
  title?: string
  quote?: string
  /** Character offsets in the whole text of the answer, end exclusive. */
  start: number
  end: number
  native?: Record<string, unknown>
}

export type CacheMark = '5m' | '1h'

export type MediaSource = { kind: 'base64'; media_type: string; data: string } | { kind: 'url'; url: string }

export interface Tool {
  name: string
  description?: string
  parameters: object
  strict?: boolean
  cache?: CacheMark
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

/**
 * A piece of a model's answer. Text and tool calls may interleave; the deltas of a tool call name its ID. Chunks from a
 * reader hold whole code points. The last one is a `finish`, before which every tool call has ended, or an `error`.
 */
export type Chunk =
  | { type: 'start'; id: string; model: string }
  | { type: 'text'; text: string }
  | { type: 'image'; source: MediaSource }
  | ({ type: 'audio' } & SoundPiece)
  | { type: 'citation'; citation: Citation }
  | { type: 'reasoning'; text: string }
  | { type: 'reasoning_end'; signature?: string; redacted?: string; format?: string; id?: string }
  | { type: 'tool_call_start'; id: string; name: string }
  | { type: 'tool_call_delta'; id: string; delta: string }
  | { type: 'tool_call_end'; id: string }
  /**
   * Cumulative: the last one counts, and is complete once `finish` has come. `cost_usd` only if the provider reports
   * it, `media` if it reports the share of audio or image tokens.
   */
  | { type: 'usage'; usage: Usage; cost_usd?: number; media?: TokensOfMedia }
  | { type: 'finish'; reason: FinishReason; native: string | null; stop_sequence?: string }
  /** A part of a type without its own chunk; surfaces report it as a loss. */
  | { type: 'lost'; name: Loss }
  | { type: 'error'; error: UpstreamFault }

export interface SoundPiece {
  /** Bytes in base64, each piece padded separately. */
  data: string
  transcript: string
  id: string
  /** Seconds since 1970; null: the vendor doesn't store it. */
  expires_at: number | null
  /** Sample rate in hertz of raw 16-bit mono samples, little endian; null: the bytes have the requested format. */
  rate: number | null
}

/** Reasons why an upstream call fails, as the router and the surfaces distinguish them (compat.md, part 6). */
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
  /** The endpoint was disabled or deleted during the call; not the provider's fault. */
  'withdrawn',
] as const
export type FaultKind = (typeof faultKinds)[number]

export interface UpstreamFault {
  kind: FaultKind
  /** The provider's own message, safe to show: never contains a key. */
  message: string
  status?: number
  code?: string
  param?: string
  details?: Readonly<Record<string, unknown>>
  /** A permanent fault of a kind that is usually temporary. */
  lasts?: true
  /** For `upstream_payment`: the remaining balance at the provider covers smaller requests. */
  affordsLess?: true
  retry_after_seconds?: number
  provider?: string
  previous?: readonly { provider: string; message: string; status: number | null }[]
}

/** What a translation couldn't carry, by the name of the field in the client's request. */
export type Loss = string
