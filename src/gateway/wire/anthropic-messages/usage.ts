import { type Usage, usageOf } from '#core/usage.ts'
import { countOf, figureOf, isObject, type Json, listOf, objectOf } from '../../model/json.ts'
import { readUsage as readChatUsage } from '../parts/openai-usage.ts'

/**
 * Disjoint buckets from the vendor's `usage`, whose input already excludes both caches; null where there is none, and for
 * placeholders of zeros.
 */
export function readUsage(given: unknown): { usage: Usage } | null {
  if (!isObject(given)) return null
  // Some who borrow the shape count as OpenAI does.
  if (!OWN.some((name) => countOf(given[name]) > 0) && listOf(given['iterations']).length === 0) {
    const read = readChatUsage(given)
    return read && { usage: read.usage }
  }
  // The tokens of a compaction stand in no other count (SDK, BetaIterationsUsage).
  const compactions = listOf(given['iterations'])
    .map(objectOf)
    .filter(({ type }) => type === 'compaction')
  const counts = [given, ...compactions].map(bucketsOf)
  const sum = (name: keyof Buckets): number => counts.reduce((total, one) => total + one[name], 0)
  return {
    usage: usageOf({
      input_tokens: sum('input_tokens'),
      cache_read_tokens: sum('cache_read_tokens'),
      cache_write_5m_tokens: sum('cache_write_5m_tokens'),
      cache_write_1h_tokens: sum('cache_write_1h_tokens'),
      output_tokens: sum('output_tokens'),
      reasoning_tokens: sum('reasoning_tokens'),
    }),
  }
}

const OWN = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']

/**
 * What two events of a stream say together. Counts are cumulative: a figure that is missing, null or a placeholder of zero
 * leaves the earlier one as it was.
 */
export function mergeUsage(earlier: Json, later: Json): Json {
  const merged = { ...earlier }
  for (const [name, value] of Object.entries(later)) {
    if (value === null || value === undefined) continue
    if (figureOf(value) === 0 && countOf(merged[name]) > 0) continue
    merged[name] = value
  }
  return merged
}

type Buckets = ReturnType<typeof bucketsOf>

function bucketsOf(given: Json) {
  const creation = objectOf(given['cache_creation'])
  const hour = countOf(creation['ephemeral_1h_input_tokens'])
  const five = countOf(creation['ephemeral_5m_input_tokens'])
  const written = countOf(given['cache_creation_input_tokens'])
  const output = countOf(given['output_tokens'])
  const thinking = Math.min(output, countOf(objectOf(given['output_tokens_details'])['thinking_tokens']))
  return {
    input_tokens: countOf(given['input_tokens']),
    cache_read_tokens: countOf(given['cache_read_input_tokens']),
    // Where the split is missing or falls short, the rest was written for the usual five minutes.
    cache_write_5m_tokens: Math.max(five, written - hour),
    cache_write_1h_tokens: hour,
    output_tokens: output - thinking,
    reasoning_tokens: thinking,
  }
}

/** The vendor's `usage`, with the nullable keys that SDKs expect to find. */
export function writeUsage(usage: Usage): Json {
  return {
    input_tokens: usage.input_tokens,
    cache_creation_input_tokens: usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    cache_read_input_tokens: usage.cache_read_tokens,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cache_write_5m_tokens,
      ephemeral_1h_input_tokens: usage.cache_write_1h_tokens,
    },
    output_tokens: usage.output_tokens + usage.reasoning_tokens,
    output_tokens_details: { thinking_tokens: usage.reasoning_tokens },
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
    inference_geo: null,
  }
}
