import { type Usage, usageOf } from '#core/usage.ts'
import type { TokensOfMedia } from '../../model/cost/cost.ts'
import { countOf, figureOf, isObject, listOf, objectOf } from '../../model/json.ts'

/** Disjoint buckets from `usageMetadata`, whose prompt includes what was read from a cache; null where there is none, and for placeholders of zeros. */
export function readUsage(given: unknown): { usage: Usage; media?: TokensOfMedia } | null {
  if (!isObject(given)) return null
  const prompt = countOf(given['promptTokenCount'])
  const read = Math.min(prompt, countOf(given['cachedContentTokenCount']))
  const [tools, thoughts] = [countOf(given['toolUsePromptTokenCount']), countOf(given['thoughtsTokenCount'])]
  // An answer that holds thoughts or a refusal alone may leave its count out; the total has it all the same.
  const written =
    figureOf(given['candidatesTokenCount']) ??
    Math.max(0, countOf(given['totalTokenCount']) - prompt - tools - thoughts)
  if (prompt + tools + thoughts + written === 0) return null
  const { promptTokensDetails: prompted, candidatesTokensDetails: made } = given
  return {
    ...((Array.isArray(prompted) || Array.isArray(made)) && {
      media: {
        audioInput: tokensOf('AUDIO', prompted),
        audioOutput: tokensOf('AUDIO', made),
        imageInput: tokensOf('IMAGE', prompted),
        imageOutput: Array.isArray(made) ? tokensOf('IMAGE', made) : null,
      },
    }),
    usage: usageOf({
      // Tokens that the vendor's own tools put into the prompt are counted beside it.
      input_tokens: prompt - read + tools,
      cache_read_tokens: read,
      output_tokens: countOf(written),
      reasoning_tokens: thoughts,
    }),
  }
}

/** Of `ModalityTokenCount[]`: how many of the tokens were of this modality (ai.google.dev, UsageMetadata). */
const tokensOf = (wanted: string, details: unknown): number =>
  listOf(details)
    .map(objectOf)
    .reduce((sum, { modality, tokenCount }) => sum + (modality === wanted ? countOf(tokenCount) : 0), 0)
