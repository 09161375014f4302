import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerOf } from '../../providers/every-provider.ts'
import { carriedFields as ofMessages, decode as decodeMessages } from '../anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from '../anthropic-messages/encode/encode.ts'
import { encode as encodeConverse } from '../converse/encode.ts'
import { encode as encodeGemini } from '../gemini/encode.ts'
import { carriedFields as ofChat, decode as decodeChat } from '../openai-chat/decode/decode.ts'
import { encode as encodeChat } from '../openai-chat/encode/encode.ts'
import { carriedFields as ofResponses, decode as decodeResponses } from '../openai-responses/decode.ts'
import { encode as encodeResponses } from '../openai-responses/encode.ts'
import type { Decoded, Encoded, Target } from '../shared/target.ts'
import { claude, gpt, other } from '../translating.test.ts'

type Json = Record<string, any>

const modelAt = (model: string, preset: string, more: object = {}): Target => ({
  ...other,
  model,
  provider: providerOf(preset),
  ...more,
})
const stream = { stream: true }
/** Every provider shape, plus providers whose quirks decide what they accept. */
const providers: Record<string, (canonical: Decoded['canonical']) => Encoded> = {
  'OpenAI chat': (canonical) => encodeChat(canonical, { ...gpt, capabilities: ['tools', 'vision'] }, stream),
  'an unknown chat server': (canonical) => encodeChat(canonical, other, stream),
  'OpenRouter chat': (canonical) => encodeChat(canonical, modelAt('a/b', 'openrouter'), stream),
  Mistral: (canonical) => encodeChat(canonical, modelAt('mistral-small', 'mistral'), stream),
  Ollama: (canonical) => encodeChat(canonical, modelAt('qwen3', 'ollama'), stream),
  'OpenAI responses': (canonical) => encodeResponses(canonical, gpt, stream),
  Anthropic: (canonical) => encodeMessages(canonical, claude, stream),
  Gemini: (canonical) => encodeGemini(canonical, modelAt('gemini-3-pro-preview', 'google')),
  Bedrock: (canonical) => encodeConverse(canonical, modelAt('amazon.nova-pro-v1:0', 'bedrock')),
}

const parameters = { type: 'object', properties: { a: { type: 'string' } } }
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const mark = { type: 'ephemeral' }
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const pixel = `data:image/png;base64,${png}`

interface Client {
  decode(body: unknown): Decoded
  carried: ReadonlySet<string>
  least: Json
  /** A value for each field that this surface reads. */
  values: Json
  /** Nested fields: the name of the loss, and the fields that set it. */
  inner: Record<string, Json>
  /** Vendor fields that this surface doesn't read. */
  unread: Json
  /** Fields that change no request, and why. */
  silent: Record<string, string>
}

const chatTool = { type: 'function', function: { name: 'f', parameters } }
const clients: Record<string, Client> = {
  chat: {
    decode: decodeChat,
    carried: ofChat,
    least: { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: [chatTool] },
    values: {
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 77,
      max_tokens: 77,
      temperature: 0.3,
      top_p: 0.4,
      top_k: 5,
      frequency_penalty: 0.5,
      presence_penalty: 0.5,
      verbosity: 'low',
      stop: ['x'],
      seed: 7,
      n: 2,
      tools: [{ type: 'function', function: { name: 'g', parameters } }],
      functions: [{ name: 'g', parameters }],
      tool_choice: 'required',
      function_call: { name: 'f' },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      reasoning: { effort: 'high' },
      reasoning_effort: 'high',
      reasoningEffort: 'high',
      user: 'ann',
      safety_identifier: 'ann',
      metadata: { team: 'a' },
      prompt_cache_options: { mode: 'explicit', ttl: '12h' },
      prompt_cache_retention: '24h',
      cache_control: mark,
      modalities: ['text', 'image'],
    },
    inner: {
      'messages.name': { messages: [{ role: 'user', content: 'hi', name: 'ann' }] },
      'messages.image.detail': {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: pixel, detail: 'low' } }] }],
      },
      'response_format.description': {
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema, description: 'About a.' } },
      },
      verbosity: { verbosity: 'endless' },
      user: { user: 'ann', safety_identifier: 'ben' },
    },
    unread: {
      models: ['m', 'other'],
      store: true,
      provider: { order: ['a'] },
      session_id: 's',
      trace: { trace_id: 't' },
      debug: { echo_upstream_body: true },
      plugins: [{ id: 'web' }],
      transforms: ['middle-out'],
      logit_bias: { 1: 5 },
      logprobs: true,
      top_logprobs: 2,
      min_p: 0.1,
      top_a: 0.1,
      repetition_penalty: 1.1,
      prediction: { type: 'content', content: 'x' },
      moderation: { model: 'x' },
      service_tier: 'flex',
    },
    silent: {
      model: 'The router reads it.',
      models: 'Its first name is the model where `model` is missing; more names are a loss.',
      stream: 'The surface reads it.',
      stream_options: 'The surface reads `include_usage`; padding is never written.',
      include_reasoning: 'The answer is written without thoughts.',
      prompt_cache_key: 'Only chooses the server whose cache is asked, which OpenAI and OpenRouter let a client do.',
    },
  },
  responses: {
    decode: decodeResponses,
    carried: ofResponses,
    least: { model: 'm', input: 'hi', tools: [{ type: 'function', name: 'f', parameters }] },
    values: {
      input: 'hello',
      instructions: 'Be kind.',
      tools: [{ type: 'function', name: 'g', parameters }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning: { effort: 'high' },
      text: { format: { type: 'json_schema', name: 'x', schema } },
      max_output_tokens: 77,
      temperature: 0.3,
      top_p: 0.4,
      user: 'ann',
      safety_identifier: 'ann',
      metadata: { team: 'a' },
      prompt_cache_options: { mode: 'explicit', ttl: '12h' },
      prompt_cache_retention: '24h',
      cache_control: mark,
    },
    inner: {
      'messages.image.detail': {
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: pixel, detail: 'low' }] }],
      },
      'text.format.description': { text: { format: { type: 'json_schema', name: 'x', schema, description: 'A.' } } },
      verbosity: { text: { verbosity: 'low' } },
      'text.verbosity': { text: { verbosity: 'endless' } },
      'reasoning.context': { reasoning: { effort: 'low', context: 'all' } },
      'reasoning.mode': { reasoning: { effort: 'low', mode: 'deep' } },
      user: { user: 'ann', safety_identifier: 'ben' },
      'include.message.output_text.logprobs': { include: ['message.output_text.logprobs'] },
    },
    unread: {
      store: true,
      max_tool_calls: 2,
      top_logprobs: 2,
      truncation: 'auto',
      service_tier: 'flex',
      context_management: [{ type: 'compaction' }],
      moderation: { model: 'x' },
      provider: { order: ['a'] },
      trace: { trace_id: 't' },
    },
    silent: {
      model: 'The router reads it.',
      stream: 'The surface reads it.',
      stream_options: 'Padding is never written.',
      include: 'Sealed thoughts are always in the answer; the rest is about tools, which are losses themselves.',
      client_metadata: 'A client’s notes about itself, for its own vendor.',
      prompt_cache_key: 'Only chooses the server whose cache is asked.',
    },
  },
  messages: {
    decode: (body) => decodeMessages(body),
    carried: ofMessages,
    least: {
      model: 'm',
      max_tokens: 3_000,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ name: 'f', input_schema: parameters }],
    },
    values: {
      max_tokens: 77,
      messages: [{ role: 'user', content: 'hello' }],
      system: 'Be kind.',
      temperature: 0.3,
      top_p: 0.4,
      top_k: 5,
      stop_sequences: ['x'],
      tools: [{ name: 'g', input_schema: parameters }],
      tool_choice: { type: 'any' },
      thinking: { type: 'enabled', budget_tokens: 1_500 },
      output_config: { format: { type: 'json_schema', schema } },
      output_format: { type: 'json_schema', schema },
      metadata: { user_id: 'ann' },
      cache_control: mark,
    },
    inner: {
      metadata: { metadata: { team: 'a' } },
      'output_config.task_budget': { output_config: { task_budget: { type: 'tokens', total: 9_000 } } },
      'tools.allowed_callers': {
        tools: [{ name: 'f', input_schema: parameters, allowed_callers: ['code_execution_20250825'] }],
      },
      'tools.input_examples': { tools: [{ name: 'f', input_schema: parameters, input_examples: [{ a: 'x' }] }] },
      parallel_tool_calls: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    },
    unread: {
      service_tier: 'priority',
      speed: 'fast',
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      mcp_servers: [{ name: 'x' }],
      provider: { order: ['a'] },
    },
    silent: {
      model: 'The router reads it.',
      stream: 'The surface reads it.',
      betas: 'SDKs send it as a header; the fields of a beta are named one by one.',
      diagnostics: 'Compares the request with an earlier one of the same vendor; naming one is refused.',
      thread: 'The beginning of a thread; continuing one is refused.',
    },
  },
}

for (const [name, { decode, carried, least, values, inner, unread, silent }] of Object.entries(clients)) {
  const through = (body: Json, encode: (typeof providers)[string]) => {
    const { canonical, losses } = decode(body)
    const result = encode(canonical)
    return { sent: result.body, losses: [...losses, ...result.losses], watched: result.watched ?? [] }
  }

  test(`${name}: every field the surface reads has a value in this table or a reason to change nothing`, () => {
    assert.deepEqual([...Object.keys(values), ...Object.keys(silent)].toSorted(), [...carried].toSorted())
  })

  test(`${name}: every field reaches every provider or is named as a loss`, () => {
    const cases = [
      ...Object.entries(values).map(([field, value]) => [field, { [field]: value }] as const),
      ...Object.entries(inner),
      ...Object.entries(unread).map(([field, value]) => [field, { [field]: value }] as const),
    ]
    for (const [provider, encode] of Object.entries(providers)) {
      const plain = through(least, encode)
      assert.deepEqual(plain.losses, [], `${provider} loses nothing of the least request`)
      for (const [field, more] of cases) {
        const { tools: _, ...bare } = least
        // With both names of the tools, the older one would be a loss.
        const full = through({ ...('functions' in more ? bare : least), ...more }, encode)
        const isSent = JSON.stringify([full.sent, full.watched]) !== JSON.stringify([plain.sent, plain.watched])
        const isNamed = full.losses.length > 0
        assert.ok(isSent || isNamed, `${provider}: ${field} vanished: ${JSON.stringify(full.sent)}`)
        if (field in unread) assert.ok(full.losses.includes(field), `${provider}: ${field} isn't named`)
      }
    }
  })
}

test('fields that a provider accepts are sent unchanged', () => {
  const options = { prompt_cache_options: { mode: 'explicit', ttl: '12h' }, prompt_cache_retention: '24h' }
  const body = {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be kind.', name: 'host' },
      { role: 'user', content: 'hi', name: 'ann' },
      { role: 'assistant', content: 'Hm.', name: 'bot' },
      { role: 'user', content: 'go on', name: 'ben' },
    ],
    metadata: { team: 'a' },
    ...options,
  }
  const { canonical } = decodeChat(body)
  const losses = (provider: string) => providers[provider]!(canonical).losses
  const chat = providers['OpenAI chat']!(canonical).body
  assert.deepEqual(
    (chat['messages'] as Json[]).map((message) => message['name']),
    ['host', 'ann', 'bot', 'ben'],
  )
  assert.deepEqual([chat['prompt_cache_options'], chat['prompt_cache_retention']], Object.values(options))
  // OpenAI only accepts it in Chat Completions with `store`.
  assert.deepEqual([chat['metadata'], losses('OpenAI chat')], [undefined, ['metadata']])
  const responses = providers['OpenAI responses']!(canonical).body
  assert.deepEqual(responses['metadata'], { team: 'a' })
  assert.deepEqual([responses['prompt_cache_options'], responses['prompt_cache_retention']], Object.values(options))
  assert.deepEqual(losses('OpenAI responses'), ['messages.name'])
  assert.deepEqual(providers['OpenRouter chat']!(canonical).body['metadata'], { team: 'a' })
  for (const provider of ['Anthropic', 'Gemini', 'Bedrock'])
    assert.deepEqual(
      losses(provider),
      ['metadata', 'prompt_cache_options', 'prompt_cache_retention', 'messages.name'],
      provider,
    )
})

test('a value equal to the default is no loss', () => {
  const usual = { prompt_cache_options: { mode: 'implicit' }, prompt_cache_retention: 'in_memory', store: false }
  const empty = { metadata: {}, usage: { include: true }, route: 'fallback', models: ['m'] }
  const message = { role: 'user', content: [{ type: 'image_url', image_url: { url: pixel, detail: 'auto' } }] }
  const { canonical, losses } = decodeChat({ model: 'm', messages: [message], ...usual, ...empty })
  assert.deepEqual(losses, [])
  for (const [name, encode] of Object.entries(providers)) assert.deepEqual(encode(canonical).losses, [], name)
})
