import { type Usage, usageOf } from '#core/usage.ts'
import { readUsage as readChatUsage } from '../parts/openai-usage.ts'
import { countOf, figureOf, isObject, type Json, objectOf } from '../../model/json.ts'

/**
 * Disjoint buckets from a provider's `usage`, whose input includes the caches and whose output includes reasoning. Null for
 * placeholders of zeros. Other names than the API's own are read as in chat completions.
 */
export function readUsage(given: unknown): Usage | null {
  if (!isObject(given)) return null
  const isOwn = figureOf(given['input_tokens']) !== null && !FOREIGN.some((name) => countOf(given[name]) > 0)
  if (!isOwn || countOf(given['input_tokens']) === 0) return readChatUsage(given)?.usage ?? null
  const details = objectOf(given['input_tokens_details'])
  const all = countOf(given['input_tokens'])
  const read = Math.min(all, countOf(details['cached_tokens']) || countOf(given['cached_tokens']))
  const written = Math.min(all - read, countOf(details['cache_write_tokens']))
  const said = countOf(given['output_tokens'])
  const reasoning = Math.min(said, countOf(objectOf(given['output_tokens_details'])['reasoning_tokens']))
  return usageOf({
    input_tokens: all - read - written,
    cache_read_tokens: read,
    cache_write_5m_tokens: written,
    output_tokens: said - reasoning,
    reasoning_tokens: reasoning,
  })
}

/** Names of chat completions, and Anthropic's for caches that the input leaves out. */
const FOREIGN = ['prompt_tokens', 'completion_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']

export function writeUsage(usage: Usage): Json {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const input = usage.input_tokens + usage.cache_read_tokens + written
  const output = usage.output_tokens + usage.reasoning_tokens
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cache_read_tokens, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: input + output,
  }
}
