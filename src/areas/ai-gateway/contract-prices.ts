import { z } from 'zod'

const price = z.number().min(0).max(1_000_000)
/** Prices of a model as a source may give them, USD per million units. */
export const prices = {
  input: price,
  output: price,
  reasoning: price.optional(),
  cache_read: price.optional(),
  cache_write_5m: price.optional(),
  cache_write_1h: price.optional(),
  image: price.optional().describe('USD per million pictures.'),
  audio_input: price.optional(),
  audio_output: price.optional(),
  request: price.optional().describe('USD per request.'),
}
