import { noMedia, type TokensOfMedia } from '../../model/cost/cost.ts'
import { type Usage, usageOf } from '#core/usage.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import { countOf, figureOf, type Json, listOf, objectOf } from '../../model/json.ts'
import { type ReadUsage, readUsage } from '../parts/openai-usage.ts'

/** Figures at the top level win: a provider that adds them elsewhere repeats them. */
export function usageIn(answer: Json): ReadUsage | null {
  const topLevel = readUsage(answer['usage'])
  if (topLevel !== null) return topLevel
  // Moonshot: inside the last choice of a stream (earendil-works/pi#2017). Others nest it one level deeper.
  for (const choice of listOf(answer['choices']).map(objectOf))
    for (const place of [choice, objectOf(choice['message']), objectOf(choice['delta'])]) {
      const inside = readUsage(place['usage'])
      if (inside !== null) return inside
    }
  // Groq: beside the last choice of a stream, as `x_groq` (vercel/ai#1651).
  return readUsage(objectOf(answer['x_groq'])['usage']) ?? readTimings(answer['timings'])
}

/** llama.cpp reports counts beside durations in streams without requested usage (ggml-org/llama.cpp#15827). */
function readTimings(value: unknown): ReadUsage | null {
  const timings = objectOf(value)
  if (figureOf(timings['prompt_n']) === null || figureOf(timings['predicted_n']) === null) return null
  return {
    usage: usageOf({
      input_tokens: countOf(timings['prompt_n']),
      cache_read_tokens: countOf(timings['cache_n']),
      output_tokens: countOf(timings['predicted_n']),
    }),
  }
}

/** The prompt includes both caches, the completion includes reasoning. */
export function writeUsage(usage: Usage, media: TokensOfMedia = noMedia): Json {
  const cacheWrites = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const prompt = usage.input_tokens + usage.cache_read_tokens + cacheWrites
  const completion = usage.output_tokens + usage.reasoning_tokens
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: usage.cache_read_tokens,
      cache_write_tokens: cacheWrites,
      audio_tokens: media.audioInput,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning_tokens,
      audio_tokens: media.audioOutput,
      ...(media.imageOutput !== null && { image_tokens: media.imageOutput }),
    },
  }
}

export const writeUsageWithCost = (
  usage: Usage,
  reportedCost: number | null,
  about: AnswerAbout,
  media: TokensOfMedia | undefined,
): Json => ({
  ...writeUsage(usage, media),
  ...costFields(usage, reportedCost, about, media),
})

/**
 * For the caller's own key, also what the provider charged. An unknown cost is left out: OpenRouter's clients fail on
 * null.
 */
export function costFields(
  usage: Usage,
  reportedCost: number | null,
  { billing, costOf }: AnswerAbout,
  media: TokensOfMedia | undefined,
): Json {
  const cost = costOf(usage, reportedCost, media)
  const byok = billing === 'byok'
  // The same price tier applies to both: the completion's cost is the total minus the prompt's.
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
