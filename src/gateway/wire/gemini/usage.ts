import { type Usage, usageOf } from '#core/usage.ts'
import type { TokensOfMedia } from '../../model/cost/cost.ts'
import { countOf, figureOf, isObject, listOf, objectOf } from '../../model/json.ts'

/** Disjoint buckets: the prompt includes cache reads. Null without usage and for placeholders of zeros. */
export function readUsage(metadata: unknown): { usage: Usage; media?: TokensOfMedia } | null {
  if (!isObject(metadata)) return null
  const prompt = countOf(metadata['promptTokenCount'])
  const cacheReads = Math.min(prompt, countOf(metadata['cachedContentTokenCount']))
  const [tools, thoughts] = [countOf(metadata['toolUsePromptTokenCount']), countOf(metadata['thoughtsTokenCount'])]
  // An answer with only thoughts or a refusal may omit its count, but the total includes it.
  const output =
    figureOf(metadata['candidatesTokenCount']) ??
    Math.max(0, countOf(metadata['totalTokenCount']) - prompt - tools - thoughts)
  if (prompt + tools + thoughts + output === 0) return null
  const { promptTokensDetails: promptDetails, candidatesTokensDetails: outputDetails } = metadata
  return {
    ...((Array.isArray(promptDetails) || Array.isArray(outputDetails)) && {
      media: {
        audioInput: tokensOf('AUDIO', promptDetails),
        audioOutput: tokensOf('AUDIO', outputDetails),
        imageInput: tokensOf('IMAGE', promptDetails),
        imageOutput: Array.isArray(outputDetails) ? tokensOf('IMAGE', outputDetails) : null,
      },
    }),
    usage: usageOf({
      // Tokens that the vendor's own tools add to the prompt are counted separately.
      input_tokens: prompt - cacheReads + tools,
      cache_read_tokens: cacheReads,
      output_tokens: countOf(output),
      reasoning_tokens: thoughts,
    }),
  }
}

/** ai.google.dev, UsageMetadata. */
const tokensOf = (name: string, details: unknown): number =>
  listOf(details)
    .map(objectOf)
    .reduce((sum, { modality, tokenCount }) => sum + (modality === name ? countOf(tokenCount) : 0), 0)
