import { z } from 'zod'

const price = z.number().min(0).max(1_000_000)
const further = {
  reasoning: price.optional(),
  cache_read: price.optional(),
  cache_write_5m: price.optional(),
  cache_write_1h: price.optional(),
  image: price.optional().describe('USD per million pictures made.'),
  pixel: price.optional().describe('USD per million pixels of pictures made.'),
  image_input: price.optional().describe('USD per million tokens of pictures that are read. Left out: as `input`.'),
  image_output: price.optional().describe('USD per million tokens of pictures made. Left out: as `output`.'),
  audio_input: price.optional(),
  audio_output: price.optional(),
  audio_second: price.optional().describe('USD per million seconds of sound, heard or made.'),
  video_second: price.optional().describe('USD per million seconds of video made.'),
  character: price.optional().describe('USD per million Unicode code points that are spoken.'),
  request: price.optional().describe('USD per request.'),
}

/** Prices of a model as a source may give them, USD per million units. */
export const prices = { input: price, output: price, ...further }

/** The fields of a media request that choose a price. */
export const when = {
  size: z.string().max(20).optional().describe('`1024x1024`.'),
  quality: z.string().max(32).optional(),
  resolution: z.string().max(20).optional().describe('`720p`, `1080p`, `4k`.'),
  audio: z.boolean().optional().describe('Of a video: with sound.'),
}

const variants = z
  .array(
    z.strictObject({
      when: z.strictObject(when).refine((all) => Object.keys(all).length > 0, 'must name what it hangs on'),
      input: price.optional(),
      output: price.optional(),
      ...further,
    }),
  )
  .max(100)
  .optional()
  .describe('Prices that hold instead where a request for media is such. The first that matches.')

/** The same of media models too, whose variants have prices of their own and which may have none by the token. */
export const mediaPrices = { ...prices, input: price.optional(), output: price.optional(), variants }
