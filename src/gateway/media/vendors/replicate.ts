import { isWord, type Json, objectOf } from '../../model/json.ts'
import { SHORT_BYTES, SHORT_MS, VIDEO_BYTES, badAnswer, dataOf, inOne, jsonOf, pictureBytes } from '../answers.ts'
import type {
  Deferred,
  ImageRequest,
  MadeFile,
  MediaAdapter,
  MediaWire,
  Polled,
  VendorJob,
  VideoRequest,
} from '../adapter.ts'
import { isRefusal } from '../refusal-words.ts'
import { type Inline, type RequestBody, jsonBody } from '../request-body.ts'
import { lossesIn, sizeWords, withOptions } from '../request-fields.ts'
import { retryAfter } from '../../wire/faults.ts'

/** Flux 2 takes up to eight pictures, each under a name of its own: `@ai-sdk/replicate` 3.0.46, replicate-image-model.ts. */
const flux2 = /^black-forest-labs\/flux-2-/
const MOST_OF_FLUX_2 = 8

/** Where predictions of this model are made: `owner/name`, of one version with `:version` behind. */
function placeOf(model: string): { path: string; version?: string } {
  const [name = '', version] = model.split(':')
  if (version !== undefined) return { path: '/predictions', version }
  return { path: `/models/${name.split('/').map(encodeURIComponent).join('/')}/predictions` }
}

/**
 * Submits without `Prefer: wait`: with it the request would last up to a minute, and a crash within it would leave open
 * whether there is a job.
 */
async function submit(
  wire: MediaWire,
  model: string,
  write: (inline: Inline) => object,
  kind: 'image' | 'video',
): Promise<VendorJob> {
  const { path, version } = placeOf(model)
  const body: RequestBody = jsonBody((inline) => ({ input: write(inline), ...(version !== undefined && { version }) }))
  const answer = await wire.ask({ method: 'POST', path, ...body, mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
  const { id, urls } = await jsonOf(answer)
  const { get, cancel } = objectOf(urls)
  if (!isWord(get)) throw badAnswer('The provider named no prediction.')
  return { kind, get, ...(isWord(id) && { id }), ...(isWord(cancel) && { cancel }) }
}

async function poll(wire: MediaWire, { get, kind }: VendorJob): Promise<Polled> {
  const answer = await wire.ask({ method: 'GET', path: String(get), mostBytes: 64 << 20, withinMs: SHORT_MS })
  const { status, output, error } = await jsonOf(answer)
  switch (status) {
    case 'succeeded': {
      const files = outputsIn(output).map((url) => fileAt(wire, url, kind === 'video' ? VIDEO_BYTES : pictureBytes))
      return {
        status: 'done',
        delivered: { kind: 'files', files, units: kind === 'image' ? { images: files.length } : {}, losses: [] },
      }
    }
    case 'failed': {
      const message = isWord(error) ? error : 'The provider did not say why it failed.'
      return { status: isRefusal(message) ? 'refused' : 'failed', message }
    }
    case 'canceled':
    case 'aborted':
      return { status: 'cancelled', message: 'The prediction was cancelled.' }
    default:
      return { status: 'pending', progress: null, retryAfterSeconds: retryAfter(answer.headers) }
  }
}

/** An address, several, or an object of them. */
function outputsIn(output: unknown): string[] {
  if (isWord(output)) return [output]
  const list = Array.isArray(output) ? output : Object.values(objectOf(output))
  return list.flatMap((one) => (isWord(one) && /^(?:https?|data):/.test(one) ? [one] : []))
}

function fileAt(wire: MediaWire, url: string, most: number): MadeFile {
  const held = dataOf(url)
  return { bytes: held === null ? wire.download(url, most) : inOne(held), revisedPrompt: null }
}

async function cancel(wire: MediaWire, { id, cancel: at }: VendorJob): Promise<boolean> {
  const path = isWord(at) ? at : isWord(id) ? `/predictions/${encodeURIComponent(id)}/cancel` : null
  if (path === null) return false
  const answer = await wire.ask({ method: 'POST', path, mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
  return ['canceled', 'aborted'].includes(String((await jsonOf(answer))['status']))
}

/** Each model has inputs of its own; these names are the ones of `@ai-sdk/replicate` 3.0.46. Others go by `provider_options`. */
const image: Deferred<ImageRequest> = {
  how: 'deferred',
  async submit(wire, request) {
    const { model, prompt, n, size, aspectRatio, seed, negativePrompt, outputFormat, images, mask, providerOptions } =
      request
    const isFlux2 = flux2.test(model)
    const write = (inline: Inline): Json =>
      withOptions(providerOptions, {
        prompt,
        num_outputs: n,
        size: sizeWords(size),
        aspect_ratio: aspectRatio,
        seed,
        negative_prompt: negativePrompt,
        output_format: outputFormat === 'jpeg' ? 'jpg' : outputFormat,
        mask: mask === null || isFlux2 ? null : inline(mask, 'data address'),
        ...Object.fromEntries(
          images
            .slice(0, isFlux2 ? MOST_OF_FLUX_2 : 1)
            .map((one, at) => [
              isFlux2 ? `input_image${at === 0 ? '' : `_${at + 1}`}` : 'image',
              inline(one, 'data address'),
            ]),
        ),
      })
    return {
      job: await submit(wire, model, write, 'image'),
      losses: [
        ...lossesIn(request, 'quality', 'transparent'),
        ...(images.length > (isFlux2 ? MOST_OF_FLUX_2 : 1) ? ['images'] : []),
        ...(isFlux2 ? lossesIn(request, 'mask') : []),
      ],
    }
  },
  poll,
  cancel,
}

const video: Deferred<VideoRequest> = {
  how: 'deferred',
  async submit(wire, request) {
    const { model, prompt, seconds, size, resolution, aspectRatio, fps, seed, negativePrompt, firstFrame } = request
    const write = (inline: Inline): Json =>
      withOptions(request.providerOptions, {
        prompt,
        image: firstFrame === null ? null : inline(firstFrame, 'data address'),
        aspect_ratio: aspectRatio,
        size: sizeWords(size),
        resolution,
        duration: seconds,
        fps,
        seed,
        negative_prompt: negativePrompt,
      })
    return {
      job: await submit(wire, model, write, 'video'),
      losses: lossesIn(request, 'audio', 'lastFrame', 'references'),
    }
  },
  poll,
  cancel,
}

export const replicate: MediaAdapter = { mostImages: () => null, image, video }
