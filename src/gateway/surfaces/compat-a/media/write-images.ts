import type { Usage } from '#core/usage.ts'
import type { ImageRequest } from '../../../media/adapter.ts'
import { sizeWords } from '../../../media/request-fields.ts'

export interface Picture {
  bytes: Buffer
  revisedPrompt: string | null
}

type PictureRequest = Pick<ImageRequest, 'size' | 'quality' | 'outputFormat' | 'transparent' | 'images'>

const seconds = (): number => Math.floor(Date.now() / 1000)

function formatOf(bytes: Buffer): 'png' | 'jpeg' | 'webp' {
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return 'jpeg'
  return bytes.toString('latin1', 8, 12) === 'WEBP' ? 'webp' : 'png'
}

const tokensOf = ({ input_tokens: input, output_tokens: output }: Usage): object =>
  input + output === 0
    ? {}
    : {
        usage: {
          input_tokens: input,
          output_tokens: output,
          total_tokens: input + output,
          input_tokens_details: { text_tokens: input, image_tokens: 0 },
        },
      }

const about = ({ size, quality, transparent }: PictureRequest): object => ({
  background: transparent === true ? 'transparent' : 'opaque',
  ...(quality !== null && { quality }),
  ...(size !== null && { size: sizeWords(size) }),
})

/** Nothing is stored here, so a URL is a `data:` URL (RFC 2397). */
export const writeImages = (
  pictures: readonly Picture[],
  request: PictureRequest,
  format: 'b64_json' | 'url',
  usage: Usage,
): object => ({
  created: seconds(),
  data: pictures.map(({ bytes, revisedPrompt }) => {
    const base64 = bytes.toString('base64')
    return {
      ...(format === 'url' ? { url: `data:image/${formatOf(bytes)};base64,${base64}` } : { b64_json: base64 }),
      ...(revisedPrompt !== null && { revised_prompt: revisedPrompt }),
    }
  }),
  ...about(request),
  ...(pictures.length > 0 && { output_format: formatOf(pictures[0]!.bytes) }),
  ...tokensOf(usage),
})

/** Other providers send no partial images. */
export function* imageEvents(pictures: readonly Picture[], request: PictureRequest, usage: Usage): Generator<object> {
  const type = request.images.length > 0 ? 'image_edit.completed' : 'image_generation.completed'
  for (const { bytes } of pictures)
    yield {
      type,
      b64_json: bytes.toString('base64'),
      created_at: seconds(),
      ...about(request),
      output_format: formatOf(bytes),
      ...tokensOf(usage),
    }
}
