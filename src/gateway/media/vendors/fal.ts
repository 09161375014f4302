import { isWord, type Json, listOf, objectOf } from '../../model/json.ts'
import { retryAfter } from '../../wire/faults/faults.ts'
import {
  SHORT_BYTES,
  SHORT_MS,
  SOUND_BYTES,
  VIDEO_BYTES,
  badAnswer,
  dataOf,
  inOne,
  jsonOf,
  pictureBytes,
} from '../answers.ts'
import {
  type DeferredMaker,
  type DeliveredMedia,
  type ImageRequest,
  type MediaAdapter,
  MediaFault,
  type MediaRequest,
  type MediaWire,
  type PollResult,
  type SpeechRequest,
  type TranscriptSpan,
  type TranscriptionRequest,
  type VendorJob,
  type VideoRequest,
  type WireAnswer,
} from '../adapter.ts'
import { type Inline, jsonBody } from '../request-body.ts'
import { baseLanguage, charactersOf, lossesIn, withOptions } from '../request-fields.ts'
import { languageTag, segmentsOf } from '../transcript/transcripts.ts'
import { modelPath } from './named-path.ts'

/** Named sizes: `@ai-sdk/fal` 3.0.41, fal-image-model.ts. */
const sizes: Readonly<Record<string, string>> = {
  '1:1': 'square_hd',
  '16:9': 'landscape_16_9',
  '9:16': 'portrait_16_9',
  '4:3': 'landscape_4_3',
  '3:4': 'portrait_4_3',
}

/** Each app has its own inputs; these names are from `@ai-sdk/fal`. */
interface RequestKind<R> {
  write(request: R, inline: Inline): Json
  losses(request: R): string[]
  keep?(request: R): Json
}

const image: RequestKind<ImageRequest> = {
  write: (
    { prompt, n, size, aspectRatio, seed, negativePrompt, outputFormat, images, mask, providerOptions },
    inline,
  ) => {
    // With several source images, its apps take a list. `use_multiple_images` is our own option, named as in the SDK.
    const urls = images.map((one) => inline(one, 'data address'))
    const isMany = urls.length > 1 || 'image_urls' in providerOptions
    return {
      prompt,
      num_images: n,
      image_size: size ?? (aspectRatio === null ? null : sizes[aspectRatio]),
      aspect_ratio: size === null && aspectRatio !== null && sizes[aspectRatio] === undefined ? aspectRatio : null,
      seed,
      negative_prompt: negativePrompt,
      output_format: outputFormat,
      ...(urls.length > 0 && (isMany ? { image_urls: urls } : { image_url: urls[0] })),
      mask_url: mask === null ? null : inline(mask, 'data address'),
    }
  },
  losses: (request) => lossesIn(request, 'quality', 'transparent'),
}

const video: RequestKind<VideoRequest> = {
  write: (
    { prompt, seconds, aspectRatio, resolution, audio, seed, negativePrompt, firstFrame, lastFrame, references },
    inline,
  ) => ({
    prompt,
    image_url: firstFrame === null ? null : inline(firstFrame, 'data address'),
    last_frame_url: lastFrame === null ? null : inline(lastFrame, 'data address'),
    image_urls: references.length === 0 ? null : references.map((one) => inline(one, 'data address')),
    aspect_ratio: aspectRatio,
    resolution,
    duration: seconds === null ? null : `${seconds}s`,
    generate_audio: audio,
    seed,
    negative_prompt: negativePrompt,
  }),
  losses: (request) => lossesIn(request, 'size', 'fps'),
}

const speech: RequestKind<SpeechRequest> = {
  write: ({ input, voice, speed }) => ({ text: input, output_format: 'url', voice, speed }),
  losses: (request) => lossesIn(request, 'language', 'instructions'),
  keep: ({ input }) => ({ characters: charactersOf(input) }),
}

const transcription: RequestKind<TranscriptionRequest> = {
  write: ({ sound, language, timestamps, speakers, prompt }, inline) => ({
    audio_url: inline(sound, 'data address'),
    task: 'transcribe',
    language: baseLanguage(language),
    prompt,
    diarize: speakers,
    chunk_level: timestamps === 'word' ? 'word' : 'segment',
  }),
  losses: () => [],
  keep: ({ timestamps, language }) => ({ timestamps, language }),
}

const queueJob = <R extends MediaRequest>(kind: RequestKind<R>): DeferredMaker<R> => ({
  how: 'deferred',
  async submit(wire, request) {
    const answer = await wire.ask({
      method: 'POST',
      path: `/${modelPath(request.model)}`,
      ...jsonBody((inline) => withOptions(request.providerOptions, kind.write(request, inline))),
      mostBytes: SHORT_BYTES,
      withinMs: SHORT_MS,
    })
    const { request_id: id, status_url: status, response_url: response, cancel_url: cancel } = await jsonOf(answer)
    if (!isWord(status) || !isWord(response)) throw badAnswer('The provider returned no job ID.')
    return {
      job: {
        kind: request.kind,
        status,
        response,
        ...(isWord(id) && { id }),
        ...(isWord(cancel) && { cancel }),
        ...kind.keep?.(request),
      },
      losses: kind.losses(request),
    }
  },
  poll,
  cancel,
})

async function poll(wire: MediaWire, job: VendorJob): Promise<PollResult> {
  const answer = await wire.ask({
    method: 'GET',
    path: String(job['status']),
    mostBytes: SHORT_BYTES,
    withinMs: SHORT_MS,
  })
  const { status, error } = await jsonOf(answer)
  if (status !== 'COMPLETED')
    return { status: 'pending', progress: null, retryAfterSeconds: retryAfter(answer.headers) }
  if (isWord(error)) return { status: 'failed', message: error }
  try {
    return deliveredBy(wire, job, await jsonOf(await resultOf(wire, String(job['response']))))
  } catch (fault) {
    if (!(fault instanceof MediaFault)) throw fault
    const { kind, message, status: code } = fault
    if (kind === 'refused_content') return { status: 'refused', message }
    if (code === 404 || code === 410) return { status: 'done', delivered: expiredResult(fault) }
    if (code === CANCELLED) return { status: 'cancelled', message }
    if (kind === 'bad_request' || isRunners(fault)) return { status: 'failed', message }
    throw fault
  }
}

/** For a completed job that the queue has dropped: a file that fails when read. */
const expiredResult = (fault: MediaFault): DeliveredMedia => {
  async function* none(): AsyncGenerator<Uint8Array> {
    await Promise.reject(badAnswer(fault.message))
    yield Buffer.alloc(0)
  }
  return { kind: 'files', files: [{ bytes: none(), revisedPrompt: null }], units: {}, losses: [] }
}

/** The status of a canceled job's result, and of one whose runner failed (fal.ai, model APIs, errors). */
const CANCELLED = 499
const isRunners = ({ status }: MediaFault): boolean => status === 500 || status === 503

/** A runner's error only counts if it comes twice: the first may be a network problem. */
async function resultOf(wire: MediaWire, path: string): Promise<WireAnswer> {
  const ask = { method: 'GET', path, mostBytes: 64 << 20, withinMs: SHORT_MS } as const
  try {
    return await wire.ask(ask)
  } catch (fault) {
    if (fault instanceof MediaFault && isRunners(fault)) return await wire.ask(ask)
    throw fault
  }
}

/** The queue guarantees cancellation for waiting jobs; a running one may still finish (fal.ai, "Cancel a request"). */
async function cancel(wire: MediaWire, job: VendorJob): Promise<boolean> {
  const { status, cancel: at } = job
  if (!isWord(at)) return false
  const ask = { mostBytes: SHORT_BYTES, withinMs: SHORT_MS }
  const before = await jsonOf(await wire.ask({ method: 'GET', path: String(status), ...ask }))
  const { status: cancelStatus } = await jsonOf(await wire.ask({ method: 'PUT', path: at, ...ask }))
  if (cancelStatus === 'OK' || (before['status'] === 'IN_QUEUE' && cancelStatus === 'CANCELLATION_REQUESTED'))
    return true
  return (await poll(wire, job)).status === 'cancelled'
}

function deliveredBy(wire: MediaWire, job: VendorJob, result: Json): PollResult {
  if (job['kind'] === 'transcription') return { status: 'done', delivered: transcriptOf(job, result) }
  const urls = urlsIn(result)
  const flags = [result['has_nsfw_concepts'], result['nsfw_content_detected']].flatMap(listOf)
  // Its safety checker returns a black image.
  if (flags.length > 0 && flags.every((one) => one === true))
    return { status: 'refused', message: 'The provider’s safety checker blocked the image.' }
  if (job['kind'] === 'speech') return { status: 'done', delivered: soundOf(wire, job, result, urls) }
  const most = job['kind'] === 'video' ? VIDEO_BYTES : pictureBytes
  const files = urls.map((url) => ({ bytes: bytesAt(wire, url, most), revisedPrompt: null }))
  const { duration } = objectOf(result['video'])
  return {
    status: 'done',
    delivered: {
      kind: 'files',
      files,
      units:
        job['kind'] === 'image'
          ? { images: files.length }
          : typeof duration === 'number'
            ? { videoSeconds: duration }
            : {},
      losses: [],
    },
  }
}

/** One of these fields, as an object with `url` or a list of such. */
function urlsIn(result: Json): string[] {
  for (const name of ['images', 'image', 'videos', 'video', 'audio', 'audio_url', 'audio_file']) {
    const urls = [result[name]].flat().flatMap((one) => {
      const url = isWord(one) ? one : objectOf(one)['url']
      return isWord(url) ? [url] : []
    })
    if (urls.length > 0) return urls
  }
  return []
}

function bytesAt(wire: MediaWire, url: string, most: number): AsyncIterable<Uint8Array> {
  const data = dataOf(url)
  return data === null ? wire.download(url, most) : inOne(data)
}

function soundOf(wire: MediaWire, { characters }: VendorJob, result: Json, [url]: string[]): DeliveredMedia {
  if (url === undefined) throw badAnswer('The provider returned no audio.')
  const { content_type: type } = objectOf(result['audio'])
  const isWav = /wav/i.test(String(type)) || /\.wav(?:$|\?)/i.test(url)
  return {
    kind: 'sound',
    sound: {
      format: isWav ? 'wav' : 'mp3',
      sampleRate: null,
      bytes: bytesAt(wire, url, SOUND_BYTES),
      units: () => (typeof characters === 'number' ? { characters } : {}),
    },
    losses: [],
  }
}

function transcriptOf({ timestamps, language }: VendorJob, result: Json): DeliveredMedia {
  const { text, chunks, inferred_languages: languages } = result
  if (typeof text !== 'string') throw badAnswer('The provider returned no text.')
  const pieces = listOf(chunks).map(objectOf).map(pieceOf)
  const isWords = timestamps === 'word'
  return {
    kind: 'transcript',
    transcript: {
      text: text.trim(),
      language: languageTag(listOf(languages)[0]) ?? (isWord(language) ? language : null),
      // Its apps report no length, and their last chunk may end before or after the recording does.
      durationSeconds: null,
      segments: isWords ? segmentsOf(pieces) : pieces,
      words: isWords ? pieces : null,
    },
    units: {},
    losses: [],
  }
}

function pieceOf({ text, timestamp, speaker }: Json): TranscriptSpan {
  const [start, end] = listOf(timestamp)
  return {
    startSeconds: typeof start === 'number' ? start : 0,
    endSeconds: typeof end === 'number' ? end : 0,
    text: typeof text === 'string' ? text.trim() : '',
    speaker: isWord(speaker) ? speaker : null,
  }
}

export const fal: MediaAdapter = {
  image: queueJob(image),
  video: queueJob(video),
  speech: queueJob(speech),
  transcription: queueJob(transcription),
}
