import { fileOf, pictureAnswerBytes } from '../../answers.ts'
import { type ImageRequest, type Immediate, MediaFault } from '../../adapter.ts'
import { jsonBody } from '../../request-body.ts'
import { lossesIn, ratioOf, withOptions } from '../../request-fields.ts'
import { generateContent } from './content.ts'

/** Supported aspect ratios: `@ai-sdk/google` 4.0.121, google-language-model-options.ts. */
const ratios = new Set([
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '21:9',
  '1:8',
  '8:1',
  '1:4',
  '4:1',
])

export const geminiImages: Immediate<ImageRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, prompt, size, aspectRatio, seed, images, mask, providerOptions } = request
    if (mask !== null)
      throw new MediaFault(
        'bad_request',
        'Gemini models don’t support masks. Describe the part to change in the prompt.',
        {
          sent: false,
        },
      )
    const ratio = aspectRatio ?? (size === null ? null : ratioOf(size))
    const isKnown = ratio !== null && (aspectRatio !== null || ratios.has(ratio))
    const { held: inlineData, units } = await generateContent(
      wire,
      model,
      jsonBody((inline) =>
        withOptions(providerOptions, {
          contents: [
            {
              role: 'user',
              parts: [
                { text: prompt },
                ...images.map((image) => ({ inlineData: { mimeType: image.type, data: inline(image, 'base64') } })),
              ],
            },
          ],
          generationConfig: {
            responseModalities: ['IMAGE'],
            ...(seed !== null && { seed }),
            ...(isKnown && { imageConfig: { aspectRatio: ratio } }),
          },
        }),
      ),
      pictureAnswerBytes(2),
    )
    return {
      kind: 'files',
      files: inlineData.map(({ base64 }) => fileOf(base64)),
      units: { images: inlineData.length, ...units },
      losses: lossesIn(request, 'size', 'quality', 'transparent', 'outputFormat', 'negativePrompt'),
    }
  },
}
