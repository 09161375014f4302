import { type Usage, usageOf } from '#core/usage.ts'
import { readUsage as readChatUsage } from '../parts/openai-usage.ts'
import { countOf, figureOf, isObject, type Json, objectOf } from '../../model/json.ts'

/**
 * Disjoint buckets: input includes the caches, output includes reasoning. Null for placeholders of zeros. Other names
 * are read as in Chat Completions.
 */
export function readUsage(report: unknown): Usage | null {
  if (!isObject(report)) return null
  const isOwn = figureOf(report['input_tokens']) !== null && !FOREIGN.some((name) => countOf(report[name]) > 0)
  if (!isOwn || countOf(report['input_tokens']) === 0) return readChatUsage(report)?.usage ?? null
  const details = objectOf(report['input_tokens_details'])
  const all = countOf(report['input_tokens'])
  const cacheReads = Math.min(all, countOf(details['cached_tokens']) || countOf(report['cached_tokens']))
  const cacheWrites = Math.min(all - cacheReads, countOf(details['cache_write_tokens']))
  const output = countOf(report['output_tokens'])
  const reasoning = Math.min(output, countOf(objectOf(report['output_tokens_details'])['reasoning_tokens']))
  return usageOf({
    input_tokens: all - cacheReads - cacheWrites,
    cache_read_tokens: cacheReads,
    cache_write_5m_tokens: cacheWrites,
    output_tokens: output - reasoning,
    reasoning_tokens: reasoning,
  })
}

/** Names of Chat Completions, and Anthropic's for caches that the input excludes. */
const FOREIGN = ['prompt_tokens', 'completion_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']

export function writeUsage(usage: Usage): Json {
  const cacheWrites = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const input = usage.input_tokens + usage.cache_read_tokens + cacheWrites
  const output = usage.output_tokens + usage.reasoning_tokens
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cache_read_tokens, cache_write_tokens: cacheWrites },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: input + output,
  }
}
