import { MAKING_MS, inOne, pictureBytes, wholeOf } from '../answers.ts'
import { type ImageRequest, type Immediate, MediaFault } from '../adapter.ts'
import { jsonBody } from '../request-body.ts'
import { lossesIn, ratioOf, withOptions } from '../request-fields.ts'
import { modelPath } from './named-path.ts'

/**
 * Images from `/workflows/<model>/text_to_image`, which returns the bytes of one: `@ai-sdk/fireworks` 3.0.62,
 * fireworks-image-model.ts. Its editing models use jobs, which aren't supported here.
 */
export const workflowImages: Immediate<ImageRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, prompt, aspectRatio, size, seed, images, outputFormat, providerOptions } = request
    if (images.length > 0)
      throw new MediaFault('bad_request', 'This provider’s image editing models aren’t supported.', {
        sent: false,
      })
    const png = outputFormat !== 'jpeg'
    const answer = await wire.ask({
      method: 'POST',
      path: `/workflows/${modelPath(model)}/text_to_image`,
      ...withAccept(
        jsonBody(() =>
          withOptions(providerOptions, {
            prompt,
            seed,
            samples: 1,
            aspect_ratio: aspectRatio ?? (size === null ? null : ratioOf(size)),
          }),
        ),
        png ? 'image/png' : 'image/jpeg',
      ),
      mostBytes: pictureBytes,
      withinMs: MAKING_MS,
    })
    return {
      kind: 'files',
      files: [{ bytes: inOne(await wholeOf(answer)), revisedPrompt: null }],
      units: { images: 1 },
      losses: [
        ...lossesIn(request, 'size', 'quality', 'transparent', 'negativePrompt', 'mask'),
        ...(outputFormat === 'webp' ? ['output_format'] : []),
      ],
    }
  },
}

const withAccept = <B extends { headers: Readonly<Record<string, string>> }>(body: B, accept: string): B => ({
  ...body,
  headers: { ...body.headers, accept },
})
