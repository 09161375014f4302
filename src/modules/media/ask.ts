import type { MediaFacts } from '#packages/media-tools/facts.ts'
import type {
  ImageRequest,
  MediaInput,
  MediaKind,
  MediaRequest,
  PixelSize,
  SpeechRequest,
  TranscriptionRequest,
  VideoRequest,
} from '#gateway/media/adapter.ts'
import { countIn } from '#gateway/media/request-fields.ts'
import type { Input } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { MediaSource, mediaEndpoints } from './contract.ts'

/** Without the model and the input bytes, which depend on the offer. */
type Plain<R> = Omit<R, 'model' | 'images' | 'mask' | 'firstFrame' | 'lastFrame' | 'references' | 'sound'>
export type PlainRequest =
  | Plain<ImageRequest>
  | Plain<VideoRequest>
  | Plain<SpeechRequest>
  | Plain<TranscriptionRequest>

/** A media request as stored JSON. */
export interface MediaAsk {
  model: string
  request: PlainRequest
  folderId: Id | null
  /** Without the extension. Null: derived from the prompt. */
  name: string | null
  subtitles: 'srt' | 'vtt' | null
}

export interface NamedSource {
  /** In the adapter's request. */
  field: 'images' | 'mask' | 'firstFrame' | 'lastFrame' | 'references' | 'sound'
  /** In the API request, for errors. */
  param: string
  place: number
  kind: 'image' | 'audio'
  source: MediaSource
}

/** An input whose bytes are in the blob store. */
export interface StoredInput {
  field: string
  place: number
  sha256: string
  name: string
  facts: MediaFacts
}

export interface AskWithSources {
  ask: MediaAsk
  sources: NamedSource[]
}

type Of<K extends keyof typeof mediaEndpoints> = Input<(typeof mediaEndpoints)[K]>

const target = (input: { parent_id?: Id | undefined; name?: string | undefined }) => ({
  folderId: input.parent_id ?? null,
  name: input.name ?? null,
  subtitles: null,
})

const sizeOf = (size: string | undefined): PixelSize | null => {
  if (size === undefined) return null
  const [width, height] = size.split('x').map(Number)
  return { width: width!, height: height! }
}

/** Refuses provider options that would change the price. The request's own fields must be used. */
function checkOptions(options: Readonly<Record<string, unknown>>, kind: MediaKind): Readonly<Record<string, unknown>> {
  const match = countIn(options, kind)
  if (match === null) return options
  return refuse('invalid_parameter', {
    param: 'provider_options',
    message: `\`provider_options\` can’t include \`${match.name}\`, because it determines the price. Use \`${match.field}\` instead.`,
  })
}

const pictures = (field: NamedSource['field'], param: string, sources: readonly MediaSource[]): NamedSource[] =>
  sources.map((source, place) => ({ field, param: `${param}.${place}`, place, kind: 'image', source }))

const picture = (field: NamedSource['field'], param: string, source: MediaSource | undefined): NamedSource[] =>
  source === undefined ? [] : [{ field, param, place: 0, kind: 'image', source }]

export function parseImages(input: Of<'images'>): AskWithSources {
  return {
    ask: {
      ...target(input),
      model: input.model,
      request: {
        kind: 'image',
        providerOptions: checkOptions(input.provider_options, 'image'),
        prompt: input.prompt,
        n: input.n,
        size: sizeOf(input.size),
        aspectRatio: input.aspect_ratio ?? null,
        quality: input.quality ?? null,
        transparent: input.transparent ?? null,
        outputFormat: input.output_format ?? null,
        seed: input.seed ?? null,
        negativePrompt: input.negative_prompt ?? null,
      },
    },
    sources: [...pictures('images', 'images', input.images), ...picture('mask', 'mask', input.mask)],
  }
}

export function parseVideo(input: Of<'videos'>): AskWithSources {
  return {
    ask: {
      ...target(input),
      model: input.model,
      request: {
        kind: 'video',
        providerOptions: checkOptions(input.provider_options, 'video'),
        prompt: input.prompt,
        seconds: input.seconds ?? null,
        size: sizeOf(input.size),
        resolution: input.resolution ?? null,
        aspectRatio: input.aspect_ratio ?? null,
        fps: input.fps ?? null,
        audio: input.audio ?? null,
        seed: input.seed ?? null,
        negativePrompt: input.negative_prompt ?? null,
      },
    },
    sources: [
      ...picture('firstFrame', 'image', input.image),
      ...picture('lastFrame', 'last_frame', input.last_frame),
      ...pictures('references', 'reference_images', input.reference_images),
    ],
  }
}

export function parseSpeech(input: Of<'speech'>, model: string): AskWithSources {
  return {
    ask: {
      ...target(input),
      model,
      request: {
        kind: 'speech',
        providerOptions: checkOptions(input.provider_options, 'speech'),
        input: input.input,
        voice: input.voice ?? null,
        format: input.format,
        speed: input.speed ?? null,
        language: input.language ?? null,
        instructions: input.instructions ?? null,
      },
    },
    sources: [],
  }
}

export function parseTranscription(input: Of<'transcriptions'>): AskWithSources {
  return {
    ask: {
      model: input.model,
      folderId: null,
      name: null,
      subtitles: input.subtitles ?? null,
      request: {
        kind: 'transcription',
        providerOptions: checkOptions(input.provider_options, 'transcription'),
        language: input.language ?? null,
        prompt: input.prompt ?? null,
        // Subtitles require segments.
        timestamps: input.subtitles !== undefined && input.timestamps === 'none' ? 'segment' : input.timestamps,
        speakers: input.speakers,
      },
    },
    sources:
      input.audio === undefined
        ? []
        : [{ field: 'sound', param: 'audio', place: 0, kind: 'audio', source: input.audio }],
  }
}

export type Inputs = ReadonlyMap<NamedSource['field'], readonly MediaInput[]>

/** `n`: number of images. */
export function requestFor({ request }: MediaAsk, model: string, inputs: Inputs, n: number): MediaRequest {
  const all = (field: NamedSource['field']): readonly MediaInput[] => inputs.get(field) ?? []
  const one = (field: NamedSource['field']): MediaInput | null => all(field)[0] ?? null
  switch (request.kind) {
    case 'image':
      return { ...request, model, n, images: all('images'), mask: one('mask') }
    case 'video':
      return {
        ...request,
        model,
        firstFrame: one('firstFrame'),
        lastFrame: one('lastFrame'),
        references: all('references'),
      }
    case 'speech':
      return { ...request, model }
    case 'transcription':
      return { ...request, model, sound: one('sound')! }
  }
}

export function wordsOf({ name, request }: MediaAsk): string {
  if (name !== null) return name
  switch (request.kind) {
    case 'image':
    case 'video':
      return request.prompt
    case 'speech':
      return request.input
    case 'transcription':
      return ''
  }
}

export const kindOf = ({ request }: MediaAsk): MediaKind => request.kind
