import { countOf, objectOf } from '../../../model/json.ts'
import type { MediaUnits } from '../../adapter.ts'

/** Reads tokens and seconds from `usage` of OpenAI's image and audio APIs (its description, version 2.3.0). */
export function tokensIn(usage: unknown): MediaUnits {
  const { type, seconds, input_tokens: input, output_tokens: output, ...rest } = objectOf(usage)
  if (type === 'duration') return typeof seconds === 'number' ? { audioSeconds: seconds } : {}
  const units: MediaUnits = {}
  if (countOf(input) > 0) units.inputTokens = countOf(input)
  if (countOf(output) > 0) units.outputTokens = countOf(output)
  const inputDetails = objectOf(rest['input_tokens_details'] ?? rest['input_token_details'])
  const outputDetails = objectOf(rest['output_tokens_details'])
  if (countOf(inputDetails['image_tokens']) > 0) units.inputImageTokens = countOf(inputDetails['image_tokens'])
  if (countOf(inputDetails['audio_tokens']) > 0) units.inputAudioTokens = countOf(inputDetails['audio_tokens'])
  if (countOf(inputDetails['cached_tokens']) > 0) units.cachedInputTokens = countOf(inputDetails['cached_tokens'])
  if (countOf(outputDetails['image_tokens']) > 0) units.outputImageTokens = countOf(outputDetails['image_tokens'])
  if (countOf(outputDetails['audio_tokens']) > 0) units.outputAudioTokens = countOf(outputDetails['audio_tokens'])
  return units
}
