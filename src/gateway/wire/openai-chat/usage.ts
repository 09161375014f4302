import { noMedia, type TokensOfMedia } from '../../model/cost.ts'
import { type Usage, usageOf } from '#kernel/usage.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import { countOf, isObject, type Json, objectOf } from '../../model/json.ts'

/** Disjoint buckets from a provider's `usage`, and the cost that some report; null where there is no usage. */
export function readUsage(given: unknown): { usage: Usage; cost_usd?: number; media?: TokensOfMedia } | null {
  if (!isObject(given)) return null
  const prompt = objectOf(given['prompt_tokens_details'])
  const completion = objectOf(given['completion_tokens_details'])
  const all = countOf(given['prompt_tokens'])
  // DeepSeek names its cache hits differently, beside the details or without them.
  const read = Math.min(all, countOf(prompt['cached_tokens']) || countOf(given['prompt_cache_hit_tokens']))
  const written = Math.min(all - read, countOf(prompt['cache_write_tokens']))
  const reasoning = countOf(completion['reasoning_tokens'])
  const completed = countOf(given['completion_tokens'])
  // Some vendors count reasoning beside the completion instead of in it; their total gives it away.
  const beside = reasoning > 0 && countOf(given['total_tokens']) === all + completed + reasoning
  const usage = usageOf({
    input_tokens: all - read - written,
    cache_read_tokens: read,
    cache_write_5m_tokens: written,
    output_tokens: beside ? completed : Math.max(0, completed - reasoning),
    reasoning_tokens: beside ? reasoning : Math.min(reasoning, completed),
  })
  const cost = given['cost']
  return {
    usage,
    ...(typeof cost === 'number' && Number.isFinite(cost) && cost >= 0 && { cost_usd: cost }),
    ...mediaIn(prompt, completion),
  }
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

/** The vendor's `usage`: the prompt includes both caches, the completion includes reasoning. */
export function writeUsage(usage: Usage, media: TokensOfMedia = noMedia): Json {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const prompt = usage.input_tokens + usage.cache_read_tokens + written
  const completion = usage.output_tokens + usage.reasoning_tokens
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: usage.cache_read_tokens,
      cache_write_tokens: written,
      audio_tokens: media.audioInput,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning_tokens,
      audio_tokens: media.audioOutput,
      ...(media.imageOutput !== null && { image_tokens: media.imageOutput }),
    },
  }
}

/** With what compat-c adds. `reported`: what the provider says that it cost. */
export const writeUsageWithCost = (
  usage: Usage,
  reported: number | null,
  about: AnswerAbout,
  media: TokensOfMedia | undefined,
): Json => ({
  ...writeUsage(usage, media),
  ...costFields(usage, reported, about, media),
})

/** The cost, and on the caller's own key what the provider took. A cost that nobody knows is left out: OpenRouter's clients fail on null. */
export function costFields(
  usage: Usage,
  reported: number | null,
  { billing, costOf }: AnswerAbout,
  media: TokensOfMedia | undefined,
): Json {
  const cost = costOf(usage, reported, media)
  const byok = billing === 'byok'
  // By the same tier of prices: what is left of all when the prompt is taken from it.
  const all = costOf(usage, null, media)
  const prompt = costOf({ ...usage, output_tokens: 0, reasoning_tokens: 0, images: 0 }, null, media)
  const parts = all !== null && prompt !== null
  return {
    ...(cost !== null && { cost }),
    is_byok: byok,
    cost_details: {
      upstream_inference_cost: byok ? cost : null,
      ...(parts && {
        upstream_inference_prompt_cost: prompt,
        upstream_inference_completions_cost: Math.round((all - prompt) * 1e9) / 1e9,
      }),
    },
  }
}
