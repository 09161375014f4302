import { z } from 'zod'

const price = z.number().min(0).max(1_000_000)
const further = {
  reasoning: price.optional(),
  cache_read: price.optional(),
  cache_write_5m: price.optional(),
  cache_write_1h: price.optional(),
  image: price.optional().describe('USD per million generated images.'),
  pixel: price.optional().describe('USD per million pixels of generated images.'),
  image_input: price.optional().describe('USD per million input image tokens. If omitted: same as `input`.'),
  image_output: price.optional().describe('USD per million output image tokens. If omitted: same as `output`.'),
  audio_input: price.optional(),
  audio_output: price.optional(),
  audio_second: price.optional().describe('USD per million seconds of audio, input or output.'),
  video_second: price.optional().describe('USD per million seconds of generated video.'),
  character: price.optional().describe('USD per million Unicode code points of spoken text.'),
  request: price.optional().describe('USD per request.'),
}

/** Prices in USD per million units. */
export const prices = { input: price, output: price, ...further }

export const when = {
  size: z.string().max(20).optional().describe('`1024x1024`.'),
  quality: z.string().max(32).optional(),
  resolution: z.string().max(20).optional().describe('`720p`, `1080p`, `4k`.'),
  audio: z.boolean().optional().describe('For video: with sound.'),
}

const variants = z
  .array(
    z.strictObject({
      when: z.strictObject(when).refine((all) => Object.keys(all).length > 0, 'must name a condition'),
      input: price.optional(),
      output: price.optional(),
      ...further,
    }),
  )
  .max(100)
  .optional()
  .describe('Prices that replace the others for matching media requests. The first match applies.')

/** For media models: variants have their own prices, and token prices are optional. */
export const mediaPrices = { ...prices, input: price.optional(), output: price.optional(), variants }
