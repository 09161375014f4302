import { countOf, objectOf } from '../../../model/json.ts'
import type { MediaUnits } from '../../adapter.ts'

/** Tokens and seconds in a `usage` of OpenAI's API for pictures and sound (its description, version 2.3.0). */
export function tokensIn(usage: unknown): MediaUnits {
  const { type, seconds, input_tokens: input, output_tokens: output, ...rest } = objectOf(usage)
  // Whisper is billed by time.
  if (type === 'duration') return typeof seconds === 'number' ? { audioSeconds: seconds } : {}
  const units: MediaUnits = {}
  if (countOf(input) > 0) units.inputTokens = countOf(input)
  if (countOf(output) > 0) units.outputTokens = countOf(output)
  const read = objectOf(rest['input_tokens_details'] ?? rest['input_token_details'])
  const written = objectOf(rest['output_tokens_details'])
  if (countOf(read['image_tokens']) > 0) units.inputImageTokens = countOf(read['image_tokens'])
  if (countOf(read['audio_tokens']) > 0) units.inputAudioTokens = countOf(read['audio_tokens'])
  if (countOf(read['cached_tokens']) > 0) units.cachedInputTokens = countOf(read['cached_tokens'])
  if (countOf(written['image_tokens']) > 0) units.outputImageTokens = countOf(written['image_tokens'])
  if (countOf(written['audio_tokens']) > 0) units.outputAudioTokens = countOf(written['audio_tokens'])
  return units
}
