import type { MediaFacts, SoundFormat } from '#infra/media/facts.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'

export type { SoundFormat } from '#infra/media/facts.ts'

export type { MediaKind } from '../catalogue/media.ts'

/** An image or audio input: already downloaded, inspected, and limited. */
export interface MediaInput extends MediaFacts {
  /** The file's name in a vendor's form, with the extension of its content. */
  name: string
  /** Reads the file from the start, each time. */
  read(): AsyncIterable<Uint8Array>
}

export interface PixelSize {
  width: number
  height: number
}

interface AnyRequest {
  /** The provider's name for the model. */
  model: string
  /** Sent to the vendor unchanged, in addition to the other fields. */
  providerOptions: Readonly<Record<string, unknown>>
}

/** Null everywhere means unset: the vendor's default applies. */
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
  /** Images to edit; none: an image is generated from the prompt. */
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

/** Units that the vendor reports or that were delivered; absent: not reported, so the requested amount counts. */
export interface MediaUnits {
  images?: number
  pixels?: number
  videoSeconds?: number
  audioSeconds?: number
  characters?: number
  inputTokens?: number
  /** The input tokens of images. */
  inputImageTokens?: number
  inputAudioTokens?: number
  cachedInputTokens?: number
  outputTokens?: number
  outputImageTokens?: number
  outputAudioTokens?: number
  /** The cost in USD, if the vendor reports it. */
  reportedUsd?: number
}

/** A file from the vendor, untrusted until it is probed. */
export interface MadeFile {
  bytes: AsyncIterable<Uint8Array>
  revisedPrompt: string | null
}

/**
 * Streamed audio. `sampleRate` in Hz is required if the format doesn't define it (`pcm`: 16 bit, little endian, mono).
 */
export interface MadeSound {
  format: SoundFormat
  sampleRate: number | null
  bytes: AsyncIterable<Uint8Array>
  /** Known after `bytes` have ended. */
  units(): MediaUnits
}

export interface TranscriptSpan {
  startSeconds: number
  endSeconds: number
  text: string
  speaker: string | null
}

export interface Transcript {
  text: string
  /** BCP 47. */
  language: string | null
  /** Length of the recording according to the vendor; null: not reported. See `transcript/length.ts`. */
  durationSeconds: number | null
  segments: readonly TranscriptSpan[]
  words: readonly TranscriptSpan[] | null
}

/** `losses`: fields that didn't reach the vendor, by the contract's names. */
export type DeliveredMedia =
  | { kind: 'files'; files: readonly MadeFile[]; units: MediaUnits; losses: readonly string[] }
  | { kind: 'sound'; sound: MadeSound; losses: readonly string[] }
  | { kind: 'transcript'; transcript: Transcript; units: MediaUnits; losses: readonly string[] }

/** A vendor job as stored in our row: plain JSON without any key. Its contents belong to the adapter. */
export type VendorJob = Readonly<Record<string, unknown>>

export type PollResult =
  | { status: 'pending'; progress: number | null; retryAfterSeconds: number | null }
  | { status: 'done'; delivered: DeliveredMedia }
  /** The vendor ended it without a result; `refused`: by its moderation. Costs 0. */
  | { status: 'failed' | 'refused' | 'cancelled'; message: string; reportedUsd?: number }

/** Kinds of wire failures. `sent`: the vendor may have received the request, so it must not be repeated. */
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

/** The vendor returned an error or was unreachable. `message` contains no keys and may be shown. */
export class MediaFault extends Error {
  override name = 'MediaFault'
  readonly kind: MediaFaultKind
  /** True if the vendor may have processed the request. */
  readonly sent: boolean
  readonly retryAfterSeconds: number | null
  /** The vendor's HTTP status; null: none. */
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

/** Connects to one provider endpoint. Its key is added here, only where `providers/takes-key.ts` allows it. */
export interface MediaWire {
  /**
   * Calls `base_url` + `path`, or a URL that may receive the endpoint's key (`providers/takes-key.ts`). Resolves for
   * any status under 300 with the body unread; else throws a `MediaFault` that `fault` reads from the status and the
   * vendor's error.
   */
  ask(request: {
    method: 'GET' | 'POST' | 'PUT' | 'DELETE'
    path: string
    headers?: Readonly<Record<string, string>>
    body?: Uint8Array | { bytes: AsyncIterable<Uint8Array>; length: number } | null
    /** Maximum bytes of the answer. */
    mostBytes: number
    withinMs: number
  }): Promise<WireAnswer>
  /**
   * Downloads a result from a URL named by the vendor: public, or on the endpoint's origin. The key is sent where
   * `providers/takes-key.ts` allows it. Throws `MediaFault` `bad_answer` when it expired.
   */
  download(url: string, mostBytes: number): AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

export interface WireAnswer {
  status: number
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>
  body: AsyncIterable<Uint8Array>
  /** Memory budget for buffered bytes. */
  place?: AnswerPlace
}

/** A request whose answer is the result. */
export interface Immediate<R extends MediaRequest> {
  how: 'immediate'
  run(wire: MediaWire, request: R): Promise<DeliveredMedia>
}

/** A job that is submitted, then polled until done. It lives at the vendor, and our row of it survives a crash. */
export interface DeferredMaker<R extends MediaRequest> {
  how: 'deferred'
  submit(wire: MediaWire, request: R): Promise<{ job: VendorJob; losses: readonly string[] }>
  poll(wire: MediaWire, job: VendorJob): Promise<PollResult>
  /** Absent: the vendor has no cancel. True: it confirmed. */
  cancel?(wire: MediaWire, job: VendorJob): Promise<boolean>
}

export type Maker<R extends MediaRequest> = Immediate<R> | DeferredMaker<R>

/** The media kinds that a vendor or shape generates and reads; absent kinds are unsupported. */
export interface MediaAdapter {
  /** Images per request for this model; more take several requests. Null: the vendor decides. */
  mostImages?(model: string): number | null
  image?: Maker<ImageRequest>
  video?: Maker<VideoRequest>
  speech?: Maker<SpeechRequest>
  transcription?: Maker<TranscriptionRequest>
}
