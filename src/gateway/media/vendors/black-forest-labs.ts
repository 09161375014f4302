import { isWord, type Json, objectOf } from '../../model/json.ts'
import { retryAfter } from '../../wire/faults/faults.ts'
import { SHORT_BYTES, SHORT_MS, VIDEO_BYTES, badAnswer, jsonOf, pictureBytes } from '../answers.ts'
import type {
  DeferredMaker,
  ImageRequest,
  MediaAdapter,
  MediaWire,
  PollResult,
  VendorJob,
  VideoRequest,
} from '../adapter.ts'
import { type Inline, jsonBody } from '../request-body.ts'
import { lossesIn, withOptions } from '../request-fields.ts'
import { nameSegment } from './named-path.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX_PICTURES = 10
/**
 * The inpainting model, which has another name for the image field: `@ai-sdk/black-forest-labs` 2.0.41,
 * black-forest-labs-image-model.ts.
 */
const fills = /^flux-pro-1\.0-fill/

/** Submits a job. The polling URL may be on another host, and is used unchanged (docs.bfl.ai). */
async function submit(
  wire: MediaWire,
  model: string,
  kind: 'image' | 'video',
  write: (inline: Inline) => Json,
): Promise<VendorJob> {
  const answer = await wire.ask({
    method: 'POST',
    path: `/${nameSegment('model', model)}`,
    ...jsonBody(write),
    mostBytes: SHORT_BYTES,
    withinMs: SHORT_MS,
  })
  const { id, polling_url: polling } = await jsonOf(answer)
  if (!isWord(polling) || !isWord(id)) throw badAnswer('The provider returned no job ID.')
  return { kind, id, polling }
}

async function poll(wire: MediaWire, { polling, kind }: VendorJob): Promise<PollResult> {
  const answer = await wire.ask({ method: 'GET', path: String(polling), mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
  const { status, progress, result, details } = await jsonOf(answer)
  switch (status) {
    case 'Ready': {
      const { sample } = objectOf(result)
      if (!isWord(sample)) throw badAnswer('The provider reported success without a result.')
      const bytes = wire.download(sample, kind === 'video' ? VIDEO_BYTES : pictureBytes)
      return {
        status: 'done',
        delivered: {
          kind: 'files',
          files: [{ bytes, revisedPrompt: null }],
          units: kind === 'image' ? { images: 1 } : {},
          losses: [],
        },
      }
    }
    case 'Request Moderated':
    case 'Content Moderated':
      return {
        status: 'refused',
        message: messageIn(details) ?? `The provider’s moderation rejected the request: ${status}.`,
      }
    case 'Error':
    case 'Failed':
    case 'Task not found':
      return { status: 'failed', message: messageIn(details) ?? `The provider stopped the job: ${status}.` }
    default:
      return {
        status: 'pending',
        progress: typeof progress === 'number' && progress >= 0 && progress <= 1 ? progress : null,
        retryAfterSeconds: retryAfter(answer.headers),
      }
  }
}

function messageIn(details: unknown): string | null {
  if (isWord(details)) return shorten(details, 500)
  const reasons = Object.values(objectOf(details)).flat().filter(isWord)
  return reasons.length === 0 ? null : shorten(reasons.join(', '), 500)
}

const image: DeferredMaker<ImageRequest> = {
  how: 'deferred',
  async submit(wire, request) {
    const { model, prompt, size, aspectRatio, seed, outputFormat, images, mask, providerOptions } = request
    const field = fills.test(model) ? 'image' : 'input_image'
    const write = (inline: Inline): Json =>
      withOptions(providerOptions, {
        prompt,
        seed,
        width: size?.width,
        height: size?.height,
        aspect_ratio: size === null ? aspectRatio : null,
        output_format: outputFormat === 'webp' ? null : outputFormat,
        mask: mask === null ? null : inline(mask, 'base64'),
        ...Object.fromEntries(
          images
            .slice(0, MAX_PICTURES)
            .map((one, at) => [`${field}${at === 0 ? '' : `_${at + 1}`}`, inline(one, 'base64')]),
        ),
      })
    return {
      job: await submit(wire, model, 'image', write),
      losses: [
        ...lossesIn(request, 'quality', 'transparent', 'negativePrompt'),
        ...(outputFormat === 'webp' ? ['output_format'] : []),
        ...(images.length > MAX_PICTURES ? ['images'] : []),
      ],
    }
  },
  poll,
}

/** The length must be in whole seconds within these bounds: black-forest-labs-video-model.ts of the same package. */
const SHORTEST_SECONDS = 5
const LONGEST_SECONDS = 20

const video: DeferredMaker<VideoRequest> = {
  how: 'deferred',
  async submit(wire, request) {
    const { model, prompt, seconds, size, resolution, aspectRatio, audio, firstFrame, lastFrame, providerOptions } =
      request
    const duration =
      seconds === null ? null : Math.min(LONGEST_SECONDS, Math.max(SHORTEST_SECONDS, Math.round(seconds)))
    const tier = resolution ?? (size === null ? null : Math.min(size.width, size.height) <= 720 ? 'hd' : 'fhd')
    const write = (inline: Inline): Json =>
      withOptions(providerOptions, {
        mode: firstFrame === null ? 't2v' : 'i2v',
        prompt,
        aspect_ratio: aspectRatio,
        duration,
        resolution: tier,
        generate_audio: audio,
        keyframes:
          firstFrame === null
            ? null
            : [inline(firstFrame, 'base64'), ...(lastFrame === null ? [] : [inline(lastFrame, 'base64')])],
      })
    return {
      job: await submit(wire, model, 'video', write),
      losses: [
        ...lossesIn(request, 'size', 'fps', 'seed', 'negativePrompt', 'references'),
        ...(duration === seconds ? [] : ['seconds']),
        ...(firstFrame === null ? lossesIn(request, 'lastFrame') : []),
      ],
    }
  },
  poll,
}

export const blackForestLabs: MediaAdapter = { mostImages: () => 1, image, video }
