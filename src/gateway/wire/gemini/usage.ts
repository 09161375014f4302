import { type Usage, usageOf } from '#kernel/usage.ts'
import type { AudioTokens } from '../../model/cost.ts'
import { countOf, isObject, listOf, objectOf } from '../../model/json.ts'

/** Disjoint buckets from `usageMetadata`, whose prompt includes what was read from a cache; null where there is none. */
export function readUsage(given: unknown): { usage: Usage; audio?: AudioTokens } | null {
  if (!isObject(given)) return null
  const prompt = countOf(given['promptTokenCount'])
  const read = Math.min(prompt, countOf(given['cachedContentTokenCount']))
  const audio = { input: sound(given['promptTokensDetails']), output: sound(given['candidatesTokensDetails']) }
  return {
    ...(audio.input + audio.output > 0 && { audio }),
    usage: usageOf({
      // Tokens that the vendor's own tools put into the prompt are counted beside it.
      input_tokens: prompt - read + countOf(given['toolUsePromptTokenCount']),
      cache_read_tokens: read,
      output_tokens: countOf(given['candidatesTokenCount']),
      reasoning_tokens: countOf(given['thoughtsTokenCount']),
    }),
  }
}

/** Of `ModalityTokenCount[]`: how many of the tokens were sound (ai.google.dev, UsageMetadata). */
const sound = (details: unknown): number =>
  listOf(details)
    .map(objectOf)
    .reduce((sum, { modality, tokenCount }) => sum + (modality === 'AUDIO' ? countOf(tokenCount) : 0), 0)
