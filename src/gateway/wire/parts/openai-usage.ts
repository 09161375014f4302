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
 * Disjoint buckets from a provider's `usage`, and the cost that some report. Null for placeholders: without a figure, or
 * with zeros alone, since every call has a prompt. They hide no figures that stand elsewhere.
 */
export function readUsage(given: unknown): ReadUsage | null {
  if (!isObject(given)) return null
  // mlx-vlm and some proxies have the names of the Responses API here (earendil-works/pi#2326).
  const total = countOf(given['total_tokens'])
  const completed = first(given['completion_tokens'], given['output_tokens'])
  const prompted = first(given['prompt_tokens'], given['input_tokens'])
  const cost = figureOf(given['cost'])
  if (prompted + completed + total + cachesOf(given) === 0 && !(cost !== null && cost > 0)) return null
  // Mistral has a second name for the same details (vercel/ai#14382).
  const prompt = objectOf(
    given['prompt_tokens_details'] ?? given['prompt_token_details'] ?? given['input_tokens_details'],
  )
  const completion = objectOf(given['completion_tokens_details'] ?? given['output_tokens_details'])
  const all = prompted + besidePrompt(given) || Math.max(0, total - completed)
  const read = Math.min(
    all,
    first(
      prompt['cached_tokens'],
      // Moonshot (vercel/ai#12352), DeepSeek, Mistral; LiteLLM and others in front of Anthropic.
      given['cached_tokens'],
      given['prompt_cache_hit_tokens'],
      given['num_cached_tokens'],
      given['cache_read_input_tokens'],
    ),
  )
  const written = Math.min(
    all - read,
    first(
      prompt['cache_write_tokens'],
      // Alibaba's Qwen; LiteLLM and others in front of Anthropic.
      prompt['cache_creation_input_tokens'],
      prompt['cache_creation_tokens'],
      given['cache_creation_input_tokens'],
    ),
  )
  // Perplexity and Cloudflare: at the top.
  const reasoning = first(completion['reasoning_tokens'], given['reasoning_tokens'])
  // Some vendors count reasoning beside the completion instead of in it; their total gives it away.
  const beside = reasoning > 0 && total === all + completed + reasoning
  const usage = usageOf({
    input_tokens: all - read - written,
    cache_read_tokens: read,
    cache_write_5m_tokens: written,
    output_tokens: beside ? completed : Math.max(0, completed - reasoning),
    reasoning_tokens: beside ? reasoning : Math.min(reasoning, completed),
  })
  return {
    usage,
    ...(cost !== null && cost >= 0 && { cost_usd: cost }),
    ...mediaIn(prompt, completion),
  }
}

/** Cached tokens under Anthropic's names, at the top. */
const cachesOf = (given: Json): number =>
  countOf(given['cache_read_input_tokens']) + countOf(given['cache_creation_input_tokens'])

/**
 * Cached tokens that the prompt's figure leaves out. Beside `input_tokens` they have Anthropic's meaning; beside
 * `prompt_tokens` they are part of it (LiteLLM), unless there are more of them than it has.
 */
function besidePrompt(given: Json): number {
  const caches = cachesOf(given)
  const prompted = countOf(given['prompt_tokens'])
  return prompted === 0 || caches > prompted ? caches : 0
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
