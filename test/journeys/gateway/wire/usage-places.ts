/** Where providers' APIs report usage: one fixture per place. */
import type { Usage } from '#core/usage.ts'
import { type Event, type Wire, wires } from './scripted.ts'

type Json = Record<string, any>

/** A provider's figures in one place of its API, and the tokens they mean. */
export interface Place {
  provider: string
  wire: Wire
  whole: Json
  events: Event[]
  tokens: Partial<Usage>
}

export const chunk = (delta: Json, finish_reason: string | null, more: Json = {}, inChoice: Json = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason, ...inChoice }],
  ...more,
})
export const completion = (more: Json, inChoice: Json = {}) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop', ...inChoice }],
  ...more,
})
export const textChunk = chunk({ role: 'assistant', content: 'Hi' }, null)
export const usageEvent = (usage: Json) => ({ ...chunk({}, null), choices: [], usage })

/** The same `usage` everywhere a Chat Completions provider puts it: with the last choice, or in its own event. */
const chat = (provider: string, usage: Json, tokens: Partial<Usage>): Place[] => [
  {
    provider: `${provider}, beside the last choice`,
    wire: wires.chat,
    whole: completion({ usage }),
    events: [textChunk, chunk({}, 'stop', { usage })],
    tokens,
  },
  {
    provider: `${provider}, in an event of its own`,
    wire: wires.chat,
    whole: completion({ usage }),
    events: [textChunk, chunk({}, 'stop', { usage: null }), usageEvent(usage)],
    tokens,
  },
]

export const plain = { prompt_tokens: 300, completion_tokens: 6, total_tokens: 306 }
const both = { input_tokens: 300, output_tokens: 6 }
export const cachedUsage = { input_tokens: 60, cache_read_tokens: 240, output_tokens: 6 }

const message = (usage: Json) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
})
const anthropic = (
  provider: string,
  whole: Json,
  start: Json,
  delta: Json | undefined,
  tokens: Partial<Usage>,
): Place => ({
  provider,
  wire: wires.anthropic,
  whole: message(whole),
  events: [
    { type: 'ping' },
    { type: 'message_start', message: { ...message(start), content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, ...(delta && { usage: delta }) },
    { type: 'message_stop' },
  ],
  tokens,
})

const response = (more: Json) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
    },
  ],
  ...more,
})
const responses = (provider: string, usage: Json, tokens: Partial<Usage>): Place => ({
  provider,
  wire: wires.responses,
  whole: response({ usage }),
  events: [
    { type: 'response.created', response: response({ status: 'in_progress', output: [], usage: null }) },
    { type: 'response.completed', response: response({ usage }) },
  ],
  tokens,
})

const gemini = (provider: string, usageMetadata: Json, tokens: Partial<Usage>): Place => {
  const candidate = (parts: Json[], finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
    modelVersion: 'gemini-3-pro-preview',
  })
  return {
    provider,
    wire: wires.gemini,
    whole: { ...candidate([{ text: 'Hi' }], 'STOP'), usageMetadata },
    events: [
      { ...candidate([{ text: 'Hi' }]), usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } },
      { ...candidate([], 'STOP'), usageMetadata },
    ],
    tokens,
  }
}

const converse = (provider: string, usage: Json, tokens: Partial<Usage>): Place => ({
  provider,
  wire: wires.converse,
  whole: { output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } }, stopReason: 'end_turn', usage },
  events: [
    ['messageStart', { role: 'assistant' }],
    ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hi' } }],
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'end_turn' }],
    ['metadata', { usage, metrics: { latencyMs: 1 } }],
  ],
  tokens,
})

export const usagePlaces: Place[] = [
  ...chat('OpenAI', { ...plain, prompt_tokens_details: { cached_tokens: 240 } }, cachedUsage),
  ...chat(
    'OpenRouter',
    { ...plain, prompt_tokens_details: { cached_tokens: 200, cache_write_tokens: 40 } },
    { input_tokens: 60, cache_read_tokens: 200, cache_write_5m_tokens: 40, output_tokens: 6 },
  ),
  ...chat('Moonshot, at the top', { ...plain, cached_tokens: 240 }, cachedUsage),
  ...chat('DeepSeek', { ...plain, prompt_cache_hit_tokens: 240, prompt_cache_miss_tokens: 60 }, cachedUsage),
  ...chat('Mistral', { ...plain, num_cached_tokens: 240 }, cachedUsage),
  ...chat('Mistral, details', { ...plain, prompt_token_details: { cached_tokens: 240 } }, cachedUsage),
  ...chat(
    'LiteLLM in front of Anthropic',
    { ...plain, cache_read_input_tokens: 200, cache_creation_input_tokens: 40 },
    { input_tokens: 60, cache_read_tokens: 200, cache_write_5m_tokens: 40, output_tokens: 6 },
  ),
  ...chat(
    'a proxy with Anthropic’s names, whose input leaves out the caches',
    { input_tokens: 60, cache_read_input_tokens: 200, cache_creation_input_tokens: 40, output_tokens: 6 },
    { input_tokens: 60, cache_read_tokens: 200, cache_write_5m_tokens: 40, output_tokens: 6 },
  ),
  ...chat(
    'a prompt that is smaller than its caches',
    { ...plain, prompt_tokens: 60, cache_read_input_tokens: 240 },
    cachedUsage,
  ),
  ...chat('both names, one of them a placeholder', { ...plain, input_tokens: 0, output_tokens: 0 }, both),
  ...chat(
    'both names, the other one a placeholder',
    { prompt_tokens: 0, completion_tokens: 0, input_tokens: 300, output_tokens: 6 },
    both,
  ),
  ...chat('mlx-vlm', { input_tokens: 300, output_tokens: 6, total_tokens: 306 }, both),
  ...chat('a total and the answer', { completion_tokens: 6, total_tokens: 306 }, both),
  ...chat(
    'Perplexity',
    { ...plain, completion_tokens: 10, total_tokens: 310, reasoning_tokens: 4 },
    { input_tokens: 300, output_tokens: 6, reasoning_tokens: 4 },
  ),
  ...chat(
    'xAI, thoughts beside the answer',
    { ...plain, total_tokens: 310, completion_tokens_details: { reasoning_tokens: 4 } },
    { input_tokens: 300, output_tokens: 6, reasoning_tokens: 4 },
  ),
  {
    provider: 'Moonshot, inside the last choice',
    wire: wires.chat,
    whole: completion({}, { usage: { ...plain, cached_tokens: 240 } }),
    events: [textChunk, chunk({}, 'stop', {}, { usage: { ...plain, cached_tokens: 240 } })],
    tokens: cachedUsage,
  },
  {
    provider: 'Groq, under its own name',
    wire: wires.chat,
    whole: completion({ usage: plain, x_groq: { id: 'req_1' } }),
    events: [textChunk, chunk({}, 'stop', { x_groq: { id: 'req_1', usage: { ...plain, queue_time: 0.1 } } })],
    tokens: both,
  },
  {
    provider: 'llama.cpp, timings alone',
    wire: wires.chat,
    whole: completion({ timings: { cache_n: 240, prompt_n: 60, predicted_n: 6 } }),
    events: [textChunk, chunk({}, 'stop', { timings: { cache_n: 240, prompt_n: 60, predicted_n: 6, prompt_ms: 1 } })],
    tokens: cachedUsage,
  },
  {
    provider: 'xAI, in the last event but one',
    wire: wires.chat,
    whole: completion({ usage: plain }),
    events: [textChunk, chunk({}, 'stop', { usage: plain }), usageEvent({})],
    tokens: both,
  },
  {
    provider: 'vLLM, so far in each event',
    wire: wires.chat,
    whole: completion({ usage: plain }),
    events: [
      { ...textChunk, usage: { prompt_tokens: 300, completion_tokens: 1, total_tokens: 301 } },
      chunk({}, 'stop', { usage: plain }),
    ],
    tokens: both,
  },
  {
    provider: 'Ollama',
    wire: wires.ollama,
    whole: completion({ usage: plain }),
    events: [textChunk, chunk({}, 'stop'), usageEvent(plain)],
    tokens: both,
  },
  anthropic(
    'Anthropic',
    { input_tokens: 60, cache_read_input_tokens: 240, cache_creation_input_tokens: 0, output_tokens: 6 },
    { input_tokens: 60, cache_read_input_tokens: 240, output_tokens: 1 },
    { output_tokens: 6 },
    cachedUsage,
  ),
  anthropic(
    'Anthropic, cache writes by duration',
    {
      input_tokens: 60,
      cache_creation_input_tokens: 240,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 200 },
      output_tokens: 6,
    },
    {
      input_tokens: 60,
      cache_creation_input_tokens: 240,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 200 },
      output_tokens: 1,
    },
    { output_tokens: 6 },
    { input_tokens: 60, cache_write_5m_tokens: 40, cache_write_1h_tokens: 200, output_tokens: 6 },
  ),
  anthropic(
    'Anthropic, a compaction beside the rest',
    { input_tokens: 60, output_tokens: 5, iterations: [{ type: 'compaction', input_tokens: 240, output_tokens: 1 }] },
    { input_tokens: 60, output_tokens: 1 },
    { output_tokens: 5, iterations: [{ type: 'compaction', input_tokens: 240, output_tokens: 1 }] },
    both,
  ),
  anthropic(
    'a vendor that counts at the end alone',
    { input_tokens: 300, output_tokens: 6 },
    { input_tokens: 0, output_tokens: 0 },
    { input_tokens: 300, output_tokens: 6 },
    both,
  ),
  anthropic(
    'a vendor whose end says 0 for what it said at the start',
    { input_tokens: 60, cache_read_input_tokens: 240, output_tokens: 6 },
    { input_tokens: 60, cache_read_input_tokens: 240, output_tokens: 1 },
    { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 6 },
    cachedUsage,
  ),
  anthropic(
    'zeros beside OpenAI’s names',
    { ...plain, input_tokens: 0, output_tokens: 0 },
    { input_tokens: 0, output_tokens: 0 },
    plain,
    both,
  ),
  anthropic('a vendor with OpenAI’s names', plain, plain, plain, both),
  responses(
    'OpenAI',
    { input_tokens: 300, input_tokens_details: { cached_tokens: 240 }, output_tokens: 6 },
    cachedUsage,
  ),
  responses(
    'OpenAI, thoughts',
    { input_tokens: 300, output_tokens: 10, output_tokens_details: { reasoning_tokens: 4 } },
    { ...both, reasoning_tokens: 4 },
  ),
  responses(
    'a proxy with Anthropic’s names',
    { input_tokens: 60, cache_read_input_tokens: 200, cache_creation_input_tokens: 40, output_tokens: 6 },
    { input_tokens: 60, cache_read_tokens: 200, cache_write_5m_tokens: 40, output_tokens: 6 },
  ),
  responses('zeros beside the names of chat', { ...plain, input_tokens: 0, output_tokens: 0 }, both),
  responses(
    'a server with the names of chat',
    { ...plain, prompt_tokens_details: { cached_tokens: 240 } },
    cachedUsage,
  ),
  gemini(
    'Gemini',
    { promptTokenCount: 300, cachedContentTokenCount: 240, candidatesTokenCount: 6, totalTokenCount: 306 },
    cachedUsage,
  ),
  gemini(
    'Gemini, thoughts and tools',
    {
      promptTokenCount: 200,
      toolUsePromptTokenCount: 100,
      candidatesTokenCount: 6,
      thoughtsTokenCount: 4,
      totalTokenCount: 310,
    },
    { ...both, reasoning_tokens: 4 },
  ),
  gemini('Gemini, the answer in the total alone', { promptTokenCount: 300, totalTokenCount: 306 }, both),
  converse('Bedrock', { inputTokens: 60, cacheReadInputTokens: 240, outputTokens: 6, totalTokens: 306 }, cachedUsage),
  converse(
    'Bedrock, cache writes by duration',
    {
      inputTokens: 60,
      cacheWriteInputTokens: 240,
      cacheDetails: [
        { ttl: '1h', inputTokens: 200 },
        { ttl: '5m', inputTokens: 40 },
      ],
      outputTokens: 6,
      totalTokens: 306,
    },
    { input_tokens: 60, cache_write_5m_tokens: 40, cache_write_1h_tokens: 200, output_tokens: 6 },
  ),
]
