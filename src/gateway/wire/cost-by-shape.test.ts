import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Usage, usageOf } from '#core/usage.ts'
import type { Pricing } from '../catalogue/model.ts'
import { type TokensOfMedia, costOf } from '../model/cost/cost.ts'
import { offerOf } from '../model/offer-of.test.ts'
import { readUsage as readAnthropic } from './anthropic-messages/usage.ts'
import { readUsage as readGemini } from './gemini/usage.ts'
import { readUsage as readResponses } from './openai-responses/usage.ts'
import { readUsage as readOpenai } from './parts/openai-usage.ts'

/**
 * Made-up prices: no two buckets cost the same, and one doesn't come out even. In nano-dollars per unit: input 1250,
 * output 10000, reasoning 12000, cache read 125, cache write 1562.5 (5 min) and 2500 (1 h), image 40000, audio in
 * 32000, audio out 64000; 5,000,000 per request.
 */
const pricing: Pricing = {
  input: '1.25',
  output: '10',
  reasoning: '12',
  cache_read: '0.125',
  cache_write_5m: '1.5625',
  cache_write_1h: '2.5',
  image: '40',
  audio_input: '32',
  audio_output: '64',
  audio_unit: 'token',
  request: '0.005',
}

type Reading = { usage: Usage; media?: TokensOfMedia } | null
const openai = (usage: object): Reading => readOpenai(usage)
const anthropic = (usage: object): Reading => readAnthropic(usage)
const gemini = (usage: object): Reading => readGemini(usage)
const responses = (usage: object): Reading => ({ usage: readResponses(usage)! })
const plain = (buckets: Partial<Usage>): Reading => ({ usage: usageOf(buckets) })

/** The usage that a vendor reports, and its cost calculated by hand. */
const cases: [title: string, read: Reading, nano: bigint, at?: Pricing][] = [
  ['openai-chat: text', openai({ prompt_tokens: 7, completion_tokens: 3 }), 8_750n + 30_000n + 5_000_000n],
  [
    'openai-chat: cache reads, cache writes and reasoning are parts of what they stand in',
    openai({
      prompt_tokens: 1_000,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 20 },
    }),
    375_000n + 75_000n + 156_250n + 300_000n + 240_000n + 5_000_000n,
  ],
  [
    'openai-chat as DeepSeek says it: hits beside misses',
    openai({
      prompt_tokens: 100,
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
      completion_tokens: 10,
      completion_tokens_details: { reasoning_tokens: 4 },
    }),
    45_000n + 8_000n + 60_000n + 48_000n + 5_000_000n,
  ],
  [
    'openai-chat where reasoning is counted beside the completion',
    openai({
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 22,
      completion_tokens_details: { reasoning_tokens: 7 },
    }),
    12_500n + 50_000n + 84_000n + 5_000_000n,
  ],
  [
    'openai-chat: sound in and out',
    openai({
      prompt_tokens: 100,
      completion_tokens: 60,
      prompt_tokens_details: { audio_tokens: 40 },
      completion_tokens_details: { audio_tokens: 50 },
    }),
    75_000n + 1_280_000n + 100_000n + 3_200_000n + 5_000_000n,
  ],
  [
    'openai-chat: half a nano-dollar is rounded up, once',
    openai({ prompt_tokens: 1, completion_tokens: 0, prompt_tokens_details: { cache_write_tokens: 1 } }),
    1_563n + 5_000_000n,
  ],
  [
    'anthropic-messages: every bucket',
    anthropic({
      input_tokens: 3,
      cache_creation_input_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 2 },
      cache_read_input_tokens: 5,
      output_tokens: 11,
      output_tokens_details: { thinking_tokens: 4 },
    }),
    // 3,750 + 7,812.5 + 5,000 + 625 + 70,000 + 48,000 + the price per request
    5_135_188n,
  ],
  [
    'anthropic-messages: a write that is not split was for five minutes',
    anthropic({ input_tokens: 1, cache_creation_input_tokens: 8, output_tokens: 1 }),
    1_250n + 12_500n + 10_000n + 5_000_000n,
  ],
  [
    'openai-responses: the input includes both caches, the output reasoning',
    responses({
      input_tokens: 1_000,
      input_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20 },
    }),
    375_000n + 75_000n + 156_250n + 300_000n + 240_000n + 5_000_000n,
  ],
  [
    'gemini: thoughts beside the answer, tools’ prompts beside the prompt, sound in it',
    gemini({
      promptTokenCount: 100,
      cachedContentTokenCount: 30,
      toolUsePromptTokenCount: 10,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 5,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 60 },
        { modality: 'AUDIO', tokenCount: 40 },
      ],
    }),
    // 80 input tokens are new, 40 of them audio
    50_000n + 1_280_000n + 3_750n + 200_000n + 60_000n + 5_000_000n,
  ],
  ['images', plain({ images: 2 }), 80_000n + 5_000_000n],
  ['several requests', plain({ requests: 3 }), 15_000_000n],
  // 12.345678 s × 100,000 nano-dollars = 1,234,567.8
  [
    'seconds of sound',
    plain({ audio_seconds: 12.345678 }),
    1_234_568n,
    { input: '0', output: '0', audio_input: '100', audio_unit: 'second' },
  ],
  [
    'tokens and seconds of the same sound, priced by the token',
    plain({ input_tokens: 10, audio_seconds: 1.5 }),
    12_500n + 5_000_000n,
  ],
]

for (const [title, reading, nano, at = pricing] of cases)
  test(`costs to the nano-dollar: ${title}`, () => {
    const { usage, media } = reading!
    assert.deepEqual(costOf(usage, offerOf({ pricing: at }), undefined, null, { media }), { nano, source: 'computed' })
  })

test('audio seconds without a price have no cost', () => {
  const { nano } = costOf(usageOf({ audio_seconds: 1 }), offerOf({ pricing }), undefined, null)
  assert.equal(nano, null)
})
