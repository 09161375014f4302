import { createHash } from 'node:crypto'
import { LONGEST_SIDE, drawPicture } from '#packages/media-tools/simulated/picture.ts'
import { SIMULATED_RATE, secondsOf, toneOf } from '#packages/media-tools/simulated/sound.ts'
import { simulatedWords } from '#packages/media-tools/simulated/transcript.ts'
import { LONGEST_VIDEO_SECONDS, LONGEST_VIDEO_SIDE, drawVideo } from '#packages/media-tools/simulated/video.ts'
import { refuse } from '#core/errors.ts'
import type {
  ImageRequest,
  MadeFile,
  MediaAdapter,
  MediaInput,
  PixelSize,
  PollResult,
  SpeechRequest,
  VideoRequest,
  VendorJob,
} from '../adapter.ts'
import { charactersOf, lossesIn } from '../request-fields.ts'

/**
 * Contract, part 16: valid files of the requested size and length, equal for equal requests, that say what they are.
 */
export const simulatedMedia: MediaAdapter = {
  image: {
    how: 'immediate',
    async run(_, request) {
      const size = sizeFor(request.size ?? request.images[0] ?? null, request.aspectRatio, 1_024 * 1_024, LONGEST_SIDE)
      const words = await wordsOf(request)
      const format = request.outputFormat ?? 'png'
      const transparent = request.transparent === true && format !== 'jpeg'
      const files = await Promise.all(
        Array.from({ length: request.n }, async (_, i) =>
          fileOf(await drawPicture({ ...size, format, transparent, words: `${i} ${words}` })),
        ),
      )
      return { kind: 'files', files, units: { images: files.length }, losses: imageLosses(request) }
    },
  },
  video: {
    how: 'deferred',
    async submit(_, request) {
      const { width, height } = videoSize(request)
      const seconds = Math.min(LONGEST_VIDEO_SECONDS, request.seconds ?? 4)
      const fps = Math.min(MAX_FPS, request.fps ?? 24)
      const job: VideoJob = { width, height, seconds, fps, words: await wordsOf(request) }
      return { job: { ...job }, losses: videoLosses(request) }
    },
    async poll(_, job): Promise<PollResult> {
      const video = videoOf(job)
      const files = [fileOf(await drawVideo(video))]
      const result = { kind: 'files', files, units: { videoSeconds: video.seconds }, losses: [] } as const
      return { status: 'done', delivered: result }
    },
    cancel: async () => true,
  },
  speech: {
    how: 'immediate',
    async run(_, request) {
      const { input, speed } = request
      const units = { characters: charactersOf(input) }
      const bytes = toneOf(speechWords(request), secondsOf(input, speed ?? 1))
      return {
        kind: 'sound',
        sound: { format: 'pcm', sampleRate: SIMULATED_RATE, bytes, units: () => units },
        losses: lossesIn(request, 'instructions'),
      }
    },
  },
  transcription: {
    how: 'immediate',
    async run(_, request) {
      const { sound, timestamps, language } = request
      const segments = simulatedWords(await digestOf(sound), sound.durationSeconds)
      const all = segments.flat()
      const last = all.at(-1)!.endSeconds
      const text = all.map((word) => word.text).join(' ')
      return {
        kind: 'transcript',
        transcript: {
          text,
          language: language ?? 'en',
          durationSeconds: sound.durationSeconds ?? last,
          segments:
            timestamps === 'none'
              ? []
              : segments.map((words) => ({
                  startSeconds: words[0]!.startSeconds,
                  endSeconds: words.at(-1)!.endSeconds,
                  text: words.map((word) => word.text).join(' '),
                  speaker: request.speakers ? 'speaker_1' : null,
                })),
          words: timestamps === 'word' ? all.map((word) => ({ ...word, speaker: null })) : null,
        },
        units: { audioSeconds: sound.durationSeconds ?? last },
        losses: lossesIn(request, 'prompt'),
      }
    },
  },
}

const MAX_FPS = 60

interface VideoJob extends PixelSize {
  seconds: number
  fps: number
  words: string
}
const videoOf = (job: VendorJob): VideoJob => job as unknown as VideoJob

const fileOf = (bytes: Uint8Array): MadeFile => ({
  bytes: (async function* () {
    yield bytes
  })(),
  revisedPrompt: null,
})

const imageLosses = (request: ImageRequest): string[] => [
  ...lossesIn(request, 'quality', 'images', 'mask'),
  ...(request.transparent === true && request.outputFormat === 'jpeg' ? ['transparent'] : []),
]
const videoLosses = (request: VideoRequest): string[] => [
  ...lossesIn(request, 'audio', 'firstFrame', 'lastFrame', 'references'),
  ...((request.seconds ?? 0) > LONGEST_VIDEO_SECONDS ? ['seconds'] : []),
  ...((request.fps ?? 0) > MAX_FPS ? ['fps'] : []),
]

function videoSize({ size, resolution, aspectRatio }: VideoRequest): PixelSize {
  // `720p` is the shorter side.
  const short = Number(/^(\d{3,4})p$/.exec(resolution ?? '')?.[1] ?? 720)
  if (resolution !== null && !/^\d{3,4}p$/.test(resolution))
    refuse('invalid_parameter', { param: 'resolution', message: '`resolution` must look like `720p`.' })
  const { width, height } =
    size === null ? sizeOfShort(short, aspectRatio ?? '16:9') : sizeFor(size, null, 0, LONGEST_VIDEO_SIDE)
  const longest = Math.max(width, height)
  if (longest > LONGEST_VIDEO_SIDE) tooLarge(longest, LONGEST_VIDEO_SIDE, 'resolution')
  // Chroma has half as many samples in each direction.
  return { width: Math.ceil(width / 2) * 2, height: Math.ceil(height / 2) * 2 }
}

function sizeOfShort(short: number, aspectRatio: string): PixelSize {
  const ratio = ratioOf(aspectRatio)
  const long = Math.round(short * Math.max(ratio, 1 / ratio))
  return ratio >= 1 ? { width: long, height: short } : { width: short, height: long }
}

function sizeFor(
  size: { width: number | null; height: number | null } | null,
  aspectRatio: string | null,
  pixels: number,
  most: number,
): PixelSize {
  const { width, height } = size ?? { width: null, height: null }
  if (width !== null && height !== null) {
    if (Math.max(width, height) > most) tooLarge(Math.max(width, height), most, 'size')
    return { width, height }
  }
  const ratio = aspectRatio === null ? 1 : ratioOf(aspectRatio)
  const wide = Math.round(Math.sqrt(pixels * ratio))
  return { width: wide, height: Math.max(1, Math.round(wide / ratio)) }
}

function ratioOf(aspectRatio: string): number {
  const [, wide, high] = /^(\d{1,3}):(\d{1,3})$/.exec(aspectRatio) ?? []
  const ratio = Number(wide) / Number(high)
  if (!(ratio >= 0.1 && ratio <= 10))
    refuse('invalid_parameter', {
      param: 'aspect_ratio',
      message: '`aspect_ratio` must be two whole numbers such as `16:9`, with neither more than 10 times the other.',
    })
  return ratio
}

const tooLarge = (pixels: number, most: number, param: string): never =>
  refuse('invalid_parameter', { param, message: `A side can have up to ${most} pixels here, not ${pixels}.` })

async function wordsOf(request: ImageRequest | VideoRequest): Promise<string> {
  const { kind, model, prompt, seed, negativePrompt } = request
  // Separate lists: an image to edit isn't a mask.
  const files: readonly (readonly MediaInput[])[] =
    kind === 'image'
      ? [request.images, request.mask === null ? [] : [request.mask]]
      : [[request.firstFrame], [request.lastFrame], request.references].map((some) =>
          some.filter((one) => one !== null),
        )
  const digests = await Promise.all(files.map((some) => Promise.all(some.map(digestOf))))
  return JSON.stringify([kind, model, prompt, seed, negativePrompt, digests])
}

const speechWords = ({ model, input, voice, language, speed }: SpeechRequest): string =>
  JSON.stringify([model, input, voice, language, speed])

async function digestOf(input: MediaInput): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of input.read()) hash.update(part)
  return hash.digest('hex')
}
