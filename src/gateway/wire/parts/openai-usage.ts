import { noMedia, type TokensOfMedia } from '../../model/cost/cost.ts'
import { type Usage, usageOf } from '#core/usage.ts'
import { countOf, figureOf, isObject, type Json, objectOf } from '../../model/json.ts'

export interface ReadUsage {
  usage: Usage
  cost_usd?: number
  media?: TokensOfMedia
}

const first = (...counts: readonly unknown[]): number => counts.map(countOf).find((count) => count > 0) ?? 0

/**
 * Null for placeholders without figures or with zeros only: every call has a prompt, and a placeholder must not hide
 * figures elsewhere.
 */
export function readUsage(report: unknown): ReadUsage | null {
  if (!isObject(report)) return null
  // mlx-vlm and some proxies use the names of the Responses API here (earendil-works/pi#2326).
  const total = countOf(report['total_tokens'])
  const completionTokens = first(report['completion_tokens'], report['output_tokens'])
  const promptTokens = first(report['prompt_tokens'], report['input_tokens'])
  const cost = figureOf(report['cost'])
  if (promptTokens + completionTokens + total + cachesOf(report) === 0 && !(cost !== null && cost > 0)) return null
  // Mistral has a second name for the same details (vercel/ai#14382).
  const prompt = objectOf(
    report['prompt_tokens_details'] ?? report['prompt_token_details'] ?? report['input_tokens_details'],
  )
  const completion = objectOf(report['completion_tokens_details'] ?? report['output_tokens_details'])
  const all = promptTokens + besidePrompt(report) || Math.max(0, total - completionTokens)
  const cacheReads = Math.min(
    all,
    first(
      prompt['cached_tokens'],
      // Moonshot (vercel/ai#12352), DeepSeek, Mistral; LiteLLM and other proxies for Anthropic.
      report['cached_tokens'],
      report['prompt_cache_hit_tokens'],
      report['num_cached_tokens'],
      report['cache_read_input_tokens'],
    ),
  )
  const cacheWrites = Math.min(
    all - cacheReads,
    first(
      prompt['cache_write_tokens'],
      // Alibaba's Qwen; LiteLLM and other proxies for Anthropic.
      prompt['cache_creation_input_tokens'],
      prompt['cache_creation_tokens'],
      report['cache_creation_input_tokens'],
    ),
  )
  // Perplexity and Cloudflare: at the top level.
  const reasoning = first(completion['reasoning_tokens'], report['reasoning_tokens'])
  // Some vendors report reasoning in addition to the completion, not as part of it. The total shows which.
  const beside = reasoning > 0 && total === all + completionTokens + reasoning
  const usage = usageOf({
    input_tokens: all - cacheReads - cacheWrites,
    cache_read_tokens: cacheReads,
    cache_write_5m_tokens: cacheWrites,
    output_tokens: beside ? completionTokens : Math.max(0, completionTokens - reasoning),
    reasoning_tokens: beside ? reasoning : Math.min(reasoning, completionTokens),
  })
  return {
    usage,
    ...(cost !== null && cost >= 0 && { cost_usd: cost }),
    ...mediaIn(prompt, completion),
  }
}

/** Cached tokens under Anthropic's names, at the top level. */
const cachesOf = (report: Json): number =>
  countOf(report['cache_read_input_tokens']) + countOf(report['cache_creation_input_tokens'])

/**
 * Beside `input_tokens`, cached tokens have Anthropic's meaning. Beside `prompt_tokens` they are part of it (LiteLLM),
 * unless they exceed it.
 */
function besidePrompt(report: Json): number {
  const caches = cachesOf(report)
  const promptTokens = countOf(report['prompt_tokens'])
  return promptTokens === 0 || caches > promptTokens ? caches : 0
}

const PER_MEDIUM = ['audio_tokens', 'image_tokens']

function mediaIn(prompt: Json, completion: Json): { media?: TokensOfMedia } {
  if (!PER_MEDIUM.some((name) => countOf(prompt[name]) + countOf(completion[name]) > 0 || name in completion)) return {}
  return {
    media: {
      audioInput: countOf(prompt['audio_tokens']),
      audioOutput: countOf(completion['audio_tokens']),
      imageInput: countOf(prompt['image_tokens']),
      imageOutput: 'image_tokens' in completion ? countOf(completion['image_tokens']) : noMedia.imageOutput,
    },
  }
}
