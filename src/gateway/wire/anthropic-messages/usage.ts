import { type Usage, usageOf } from '#core/usage.ts'
import { countOf, figureOf, isObject, type Json, listOf, objectOf } from '../../model/json.ts'
import { readUsage as readChatUsage } from '../parts/openai-usage.ts'

/** Disjoint buckets: the input already excludes both caches. Null without usage and for placeholders of zeros. */
export function readUsage(report: unknown): { usage: Usage } | null {
  if (!isObject(report)) return null
  // Some vendors that adopted the shape count as OpenAI does.
  if (!OWN.some((name) => countOf(report[name]) > 0) && listOf(report['iterations']).length === 0) {
    const chatUsage = readChatUsage(report)
    return chatUsage && { usage: chatUsage.usage }
  }
  // The tokens of a compaction are in no other figure (SDK, BetaIterationsUsage).
  const compactions = listOf(report['iterations'])
    .map(objectOf)
    .filter(({ type }) => type === 'compaction')
  const counts = [report, ...compactions].map(bucketsOf)
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

/** Counts are cumulative: a figure that is missing, null, or zero keeps the earlier one. */
export function mergeUsage(earlier: Json, later: Json): Json {
  const result = { ...earlier }
  for (const [name, value] of Object.entries(later)) {
    if (value === null || value === undefined) continue
    if (figureOf(value) === 0 && countOf(result[name]) > 0) continue
    result[name] = value
  }
  return result
}

type Buckets = ReturnType<typeof bucketsOf>

function bucketsOf(report: Json) {
  const creation = objectOf(report['cache_creation'])
  const hour = countOf(creation['ephemeral_1h_input_tokens'])
  const five = countOf(creation['ephemeral_5m_input_tokens'])
  const cacheWrites = countOf(report['cache_creation_input_tokens'])
  const output = countOf(report['output_tokens'])
  const thinking = Math.min(output, countOf(objectOf(report['output_tokens_details'])['thinking_tokens']))
  return {
    input_tokens: countOf(report['input_tokens']),
    cache_read_tokens: countOf(report['cache_read_input_tokens']),
    // If the split is missing or incomplete, the rest was written for the default five minutes.
    cache_write_5m_tokens: Math.max(five, cacheWrites - hour),
    cache_write_1h_tokens: hour,
    output_tokens: output - thinking,
    reasoning_tokens: thinking,
  }
}

/** SDKs expect the nullable keys. */
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
