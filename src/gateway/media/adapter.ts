import type { MediaFacts, SoundFormat } from '#infra/media/facts.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'

export type { SoundFormat } from '#infra/media/facts.ts'

export type { MediaKind } from '../catalogue/media.ts'

/** A picture or sound that a request brought: fetched, judged by its content, and bounded already. */
export interface MediaInput extends MediaFacts {
  /** The file's name in a vendor's form, with the extension of the content. */
  name: string
  /** The file from its first byte, each time. */
  read(): AsyncIterable<Uint8Array>
}

export interface PixelSize {
  width: number
  height: number
}

interface AnyRequest {
  /** The provider's name of the model. */
  model: string
  /** Goes to the vendor as it is, beside what stands here. */
  providerOptions: Readonly<Record<string, unknown>>
}

/** Null everywhere: not said, so the vendor's own default holds. */
export interface ImageRequest extends AnyRequest {
  kind: 'image'
  prompt: string
  n: number
  size: PixelSize | null
  aspectRatio: string | null
  quality: string | null
  transparent: boolean | null
  outputFormat: 'png' | 'jpeg' | 'webp' | null
  seed: number | null
  negativePrompt: string | null
  /** Pictures to change; none: one is made from the prompt. */
  images: readonly MediaInput[]
  mask: MediaInput | null
}

export interface VideoRequest extends AnyRequest {
  kind: 'video'
  prompt: string
  seconds: number | null
  size: PixelSize | null
  resolution: string | null
  aspectRatio: string | null
  fps: number | null
  audio: boolean | null
  seed: number | null
  negativePrompt: string | null
  firstFrame: MediaInput | null
  lastFrame: MediaInput | null
  references: readonly MediaInput[]
}

export interface SpeechRequest extends AnyRequest {
  kind: 'speech'
  input: string
  /** The vendor's own name of the voice. */
  voice: string | null
  format: SoundFormat
  speed: number | null
  /** BCP 47. */
  language: string | null
  instructions: string | null
}

export interface TranscriptionRequest extends AnyRequest {
  kind: 'transcription'
  sound: MediaInput
  language: string | null
  prompt: string | null
  timestamps: 'none' | 'segment' | 'word'
  speakers: boolean
}

export type MediaRequest = ImageRequest | VideoRequest | SpeechRequest | TranscriptionRequest

/** Units that the vendor reports or that were delivered; absent: it says nothing of them, and what was asked counts. */
export interface MediaUnits {
  images?: number
  pixels?: number
  videoSeconds?: number
  audioSeconds?: number
  characters?: number
  inputTokens?: number
  /** Those of the input tokens that are pictures'. */
  inputImageTokens?: number
  inputAudioTokens?: number
  cachedInputTokens?: number
  outputTokens?: number
  outputImageTokens?: number
  outputAudioTokens?: number
  /** The cost in USD, where the vendor states it. */
  reportedUsd?: number
}

/** A file as the vendor hands it over: nothing of it is believed until it was probed. */
export interface MadeFile {
  bytes: AsyncIterable<Uint8Array>
  revisedPrompt: string | null
}

/** Sound as it comes. `sampleRate` in Hz is needed where the format does not say it (`pcm`: 16 bit, little-endian, mono). */
export interface MadeSound {
  format: SoundFormat
  sampleRate: number | null
  bytes: AsyncIterable<Uint8Array>
  /** Known when `bytes` have ended. */
  units(): MediaUnits
}

export interface Spoken {
  startSeconds: number
  endSeconds: number
  text: string
  speaker: string | null
}

export interface Transcript {
  text: string
  /** BCP 47. */
  language: string | null
  /** Of the recording, as the vendor reports it; null: it doesn't. See `transcript/length.ts`. */
  durationSeconds: number | null
  segments: readonly Spoken[]
  words: readonly Spoken[] | null
}

/** `losses`: what of the request did not reach the vendor, by the names of the contract's fields. */
export type Delivered =
  | { kind: 'files'; files: readonly MadeFile[]; units: MediaUnits; losses: readonly string[] }
  | { kind: 'sound'; sound: MadeSound; losses: readonly string[] }
  | { kind: 'transcript'; transcript: Transcript; units: MediaUnits; losses: readonly string[] }

/** A job at a vendor as our row keeps it: plain JSON, without any key. What it holds is the adapter's own matter. */
export type VendorJob = Readonly<Record<string, unknown>>

export type Polled =
  | { status: 'pending'; progress: number | null; retryAfterSeconds: number | null }
  | { status: 'done'; delivered: Delivered }
  /** The vendor ended it without a result; `refused`: by its moderation. Costs 0. */
  | { status: 'failed' | 'refused' | 'cancelled'; message: string; reportedUsd?: number }

/** The failures of the wire. `sent`: the vendor may have got the request, so it must not be sent again. */
export type MediaFaultKind =
  | 'refused_content'
  | 'bad_request'
  | 'credential'
  | 'rate_limited'
  | 'overloaded'
  | 'unreachable'
  | 'timeout'
  | 'not_found'
  | 'bad_answer'

/** A vendor said no, or could not be heard. `message` is scrubbed of keys and may be shown. */
export class MediaFault extends Error {
  override name = 'MediaFault'
  readonly kind: MediaFaultKind
  /** Whether the vendor may have taken the request up. */
  readonly sent: boolean
  readonly retryAfterSeconds: number | null
  /** HTTP status by which the vendor said so; null: it said nothing, or not by a status. */
  readonly status: number | null
  constructor(
    kind: MediaFaultKind,
    message: string,
    { sent = true, retryAfterSeconds = null as number | null, status = null as number | null } = {},
  ) {
    super(message)
    this.kind = kind
    this.sent = sent
    this.retryAfterSeconds = retryAfterSeconds
    this.status = status
  }
}

/** The way to one provider endpoint. Its key is added here, and only where `providers/takes-key.ts` says so. */
export interface MediaWire {
  /**
   * Asks `base_url` + `path`, or an address that takes the endpoint's key (`providers/takes-key.ts`). Answers whatever status under 300 with its body still to be
   * read; else throws `MediaFault`, told from the status and the vendor's envelope by `fault`.
   */
  ask(request: {
    method: 'GET' | 'POST' | 'PUT' | 'DELETE'
    path: string
    headers?: Readonly<Record<string, string>>
    body?: Uint8Array | { bytes: AsyncIterable<Uint8Array>; length: number } | null
    /** The most bytes of the answer. */
    mostBytes: number
    withinMs: number
  }): Promise<WireAnswer>
  /**
   * Fetches a result from an address that the vendor named: public, or of the endpoint's origin. The key goes along where
   * `providers/takes-key.ts` says so. Throws `MediaFault` `bad_answer` when it expired.
   */
  download(url: string, mostBytes: number): AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

export interface WireAnswer {
  status: number
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>
  body: AsyncIterable<Uint8Array>
  /** The room for its bytes that have to be whole in memory. */
  place?: AnswerPlace
}

/** A request whose answer is the made thing. */
export interface Immediate<R extends MediaRequest> {
  how: 'immediate'
  run(wire: MediaWire, request: R): Promise<Delivered>
}

/** Submitted, then looked at until it is done; the job lives at the vendor, and our row of it survives a crash. */
export interface Deferred<R extends MediaRequest> {
  how: 'deferred'
  submit(wire: MediaWire, request: R): Promise<{ job: VendorJob; losses: readonly string[] }>
  poll(wire: MediaWire, job: VendorJob): Promise<Polled>
  /** Absent: the vendor has no cancel. True: it confirmed. */
  cancel?(wire: MediaWire, job: VendorJob): Promise<boolean>
}

export type Maker<R extends MediaRequest> = Immediate<R> | Deferred<R>

/** The media that a vendor, or a shape, makes and reads; a kind that is absent it does not. */
export interface MediaAdapter {
  /** The pictures that one request for this model may ask for: more are asked for by further ones. Null: the vendor says. */
  mostImages?(model: string): number | null
  image?: Maker<ImageRequest>
  video?: Maker<VideoRequest>
  speech?: Maker<SpeechRequest>
  transcription?: Maker<TranscriptionRequest>
}
