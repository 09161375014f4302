import { type Usage, usageOf } from '#kernel/usage.ts'
import { countOf, isObject } from '../json.ts'

/** Disjoint buckets from `usageMetadata`, whose prompt includes what was read from a cache; null where there is none. */
export function readUsage(given: unknown): { usage: Usage } | null {
  if (!isObject(given)) return null
  const prompt = countOf(given['promptTokenCount'])
  const read = Math.min(prompt, countOf(given['cachedContentTokenCount']))
  return {
    usage: usageOf({
      // What the vendor's own tools put into the prompt is counted beside it.
      input_tokens: prompt - read + countOf(given['toolUsePromptTokenCount']),
      cache_read_tokens: read,
      output_tokens: countOf(given['candidatesTokenCount']),
      reasoning_tokens: countOf(given['thoughtsTokenCount']),
    }),
  }
}
