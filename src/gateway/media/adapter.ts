import type { MediaFacts, SoundFormat } from '#packages/media-tools/facts.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'

export type { SoundFormat } from '#packages/media-tools/facts.ts'

export type { MediaKind } from '../catalogue/media.ts'

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
  model: string
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
  /** Images to edit; none: generate from the prompt. */
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

/** Absent: not reported, so the requested amount counts. */
export interface MediaUnits {
  images?: number
  pixels?: number
  videoSeconds?: number
  audioSeconds?: number
  characters?: number
  inputTokens?: number
  inputImageTokens?: number
  inputAudioTokens?: number
  cachedInputTokens?: number
  outputTokens?: number
  outputImageTokens?: number
  outputAudioTokens?: number
  reportedUsd?: number
}

/** A file from the vendor, untrusted until it is probed. */
export interface MadeFile {
  bytes: AsyncIterable<Uint8Array>
  revisedPrompt: string | null
}

/** `sampleRate` in Hz is required for `pcm` (16 bit, little endian, mono). */
export interface MadeSound {
  format: SoundFormat
  sampleRate: number | null
  bytes: AsyncIterable<Uint8Array>
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
  /** According to the vendor; null: not reported. */
  durationSeconds: number | null
  segments: readonly TranscriptSpan[]
  words: readonly TranscriptSpan[] | null
}

/** `losses`: by the contract's names. */
export type DeliveredMedia =
  | { kind: 'files'; files: readonly MadeFile[]; units: MediaUnits; losses: readonly string[] }
  | { kind: 'sound'; sound: MadeSound; losses: readonly string[] }
  | { kind: 'transcript'; transcript: Transcript; units: MediaUnits; losses: readonly string[] }

/** A vendor job as stored in our row: plain JSON without any key. */
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

/** `message` contains no keys and may be shown. */
export class MediaFault extends Error {
  override name = 'MediaFault'
  readonly kind: MediaFaultKind
  readonly sent: boolean
  readonly retryAfterSeconds: number | null
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

/** The endpoint's key is added here, only where `providers/takes-key.ts` allows it. */
export interface MediaWire {
  /** Resolves for any status under 300 with the body unread; else throws a `MediaFault`. */
  ask(request: {
    method: 'GET' | 'POST' | 'PUT' | 'DELETE'
    path: string
    headers?: Readonly<Record<string, string>>
    body?: Uint8Array | { bytes: AsyncIterable<Uint8Array>; length: number } | null
    mostBytes: number
    withinMs: number
  }): Promise<WireAnswer>
  /** The URL must be public or on the endpoint's origin. Throws `MediaFault` `bad_answer` when it expired. */
  download(url: string, mostBytes: number): AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

export interface WireAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  body: AsyncIterable<Uint8Array>
  place?: AnswerPlace
}

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

export interface MediaAdapter {
  /** Images per request for this model; more take several requests. Null: the vendor decides. */
  mostImages?(model: string): number | null
  image?: Maker<ImageRequest>
  video?: Maker<VideoRequest>
  speech?: Maker<SpeechRequest>
  transcription?: Maker<TranscriptionRequest>
}
