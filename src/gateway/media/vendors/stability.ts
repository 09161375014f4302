import { MAKING_MS, inOne, pictureBytes, wholeOf } from '../answers.ts'
import { type ImageRequest, type Immediate, type MediaAdapter, MediaFault } from '../adapter.ts'
import { formBody } from '../request-body.ts'
import { formOptions, lossesIn, ratioOf } from '../request-fields.ts'

/** Supported aspect ratios: `stability-ai` 0.7.0, v2beta/stable-image/generate. */
const ratios = new Set(['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'])
/** Default strength of edits: the vendor requires a number and has no default (0: no change, 1: full change). */
const STRENGTH = '0.65'

/** Each service has its own address; the models of Stable Diffusion 3 share one and are named in the form. */
function serviceOf(model: string): { service: string; named: string | null } {
  const bare = model.replace(/^stable-image-/, '')
  if (bare === 'ultra' || bare === 'core') return { service: bare, named: null }
  return { service: 'sd3', named: bare === 'sd3' ? null : bare }
}

/** Stability AI (platform.stability.ai, API reference v2beta): always a form, and one image per request. */
const image: Immediate<ImageRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, prompt, size, aspectRatio, seed, negativePrompt, outputFormat, images, mask, providerOptions } =
      request
    const { service, named: formModel } = serviceOf(model)
    const hasMask = mask !== null && images.length > 0
    if (images.length > 0 && service === 'core' && !hasMask)
      throw new MediaFault('bad_request', `${model} can’t edit images. Use ultra or an sd3 model.`, {
        sent: false,
      })
    const requestedRatio = aspectRatio ?? (size === null ? null : ratioOf(size))
    const ratio = images.length === 0 && requestedRatio !== null && ratios.has(requestedRatio) ? requestedRatio : null
    const fields = [
      ['prompt', prompt],
      ['model', hasMask ? null : formModel],
      ['mode', service === 'sd3' && !hasMask ? (images.length > 0 ? 'image-to-image' : 'text-to-image') : null],
      ['aspect_ratio', ratio],
      ['seed', seed],
      ['negative_prompt', negativePrompt],
      ['output_format', service === 'sd3' && outputFormat === 'webp' && !hasMask ? null : outputFormat],
      ['strength', images.length > 0 && !hasMask && providerOptions['strength'] === undefined ? STRENGTH : null],
    ] as const
    const ours = [...fields.map(([name]) => name), 'image', 'mask'].filter((name) => name !== 'strength')
    const { headers, body } = formBody([
      ...fields,
      ...formOptions(providerOptions, ours),
      ['image', images[0]],
      ['mask', hasMask ? mask : null],
    ])
    const answer = await wire.ask({
      method: 'POST',
      path: hasMask ? '/stable-image/edit/inpaint' : `/stable-image/generate/${service}`,
      headers: { ...headers, accept: 'image/*' },
      body,
      mostBytes: pictureBytes,
      withinMs: MAKING_MS,
    })
    const bytes = await wholeOf(answer)
    // Filtered images come blurred with status 200.
    if (answer.headers['finish-reason'] === 'CONTENT_FILTERED')
      throw new MediaFault('refused_content', 'The provider’s content filter blocked the image.', { sent: false })
    return {
      kind: 'files',
      files: [{ bytes: inOne(bytes), revisedPrompt: null }],
      units: { images: 1 },
      losses: [
        ...lossesIn(request, 'size', 'quality', 'transparent'),
        ...(ratio === null ? lossesIn(request, 'aspectRatio') : []),
        ...(images.length > 1 ? ['images'] : []),
        ...(mask !== null && !hasMask ? ['mask'] : []),
        ...(fields[6][1] === null ? lossesIn(request, 'outputFormat') : []),
      ],
    }
  },
}

export const stability: MediaAdapter = { mostImages: () => 1, image }
