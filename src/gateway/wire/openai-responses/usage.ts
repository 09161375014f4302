import { type Usage, usageOf } from '#kernel/usage.ts'
import { readUsage as readChatUsage } from '../openai-chat/usage.ts'
import { countOf, isObject, type Json, objectOf } from '../../model/json.ts'

/** Disjoint buckets from a provider's `usage`, whose input includes the caches and whose output includes reasoning. */
export function readUsage(given: unknown): Usage | null {
  if (!isObject(given)) return null
  if (typeof given['input_tokens'] !== 'number') return readChatUsage(given)?.usage ?? null
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
