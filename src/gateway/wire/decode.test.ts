import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { decode as decodeMessages } from './anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from './anthropic-messages/encode/encode.ts'
import { decode as decodeChat } from './openai-chat/decode/decode.ts'
import { encode as encodeChat } from './openai-chat/encode/encode.ts'
import { decode as decodeResponses } from './openai-responses/decode.ts'
import { isMixed } from './openai-chat/decode/mixed.ts'
import { claude, gpt, hi, old, other, refusal } from './translating.test.ts'

test('only what vendors reject is refused; null counts as absent and unknown fields are tolerated', () => {
  assert.deepEqual(
    refusal(() => decodeChat({ messages: [hi] })),
    ['missing_parameter', 'model'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm' })),
    ['missing_parameter', 'messages'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm', messages: [] })),
    ['invalid_parameter', 'messages'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm', messages: [hi], temperature: 'hot' })),
    ['invalid_parameter', 'temperature'],
  )
  assert.deepEqual(
    refusal(() => decodeChat({ model: 'm', messages: [{ role: 'tool', content: 'x' }] })),
    ['missing_parameter', 'messages.0.tool_call_id'],
  )
  assert.deepEqual(
    refusal(() => decodeMessages({ model: 'm', messages: [hi] })),
    ['missing_parameter', 'max_tokens'],
  )
  assert.deepEqual(
    refusal(() => decodeMessages({ model: 'm', max_tokens: 1, messages: [{ role: 'robot', content: '' }] })),
    ['invalid_parameter', 'messages.0.role'],
  )
  const samplingBody = { model: 'm', max_tokens: 1, messages: [hi], temperature: 0.5 }
  for (const name of ['temperature', 'top_p', 'top_k'])
    assert.deepEqual(
      refusal(() => decodeMessages({ ...samplingBody, temperature: null, [name]: 1 }, '2026-10-21')),
      ['invalid_parameter', name],
    )
  assert.equal(decodeMessages(samplingBody).canonical.temperature, 0.5)
  const paper = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }
  const citedText = {
    type: 'text',
    text: 'x',
    citations: [{ type: 'char_location', cited_text: 'x', document_index: 0 }],
  }
  for (const [message, param] of [
    [{ role: 'assistant', content: [paper] }, 'messages.1.content.0'],
    [{ role: 'user', content: [citedText] }, 'messages.1.content.0.citations'],
  ] as const) {
    const retiredBody = { model: 'm', max_tokens: 1, messages: [hi, message] }
    assert.deepEqual(
      refusal(() => decodeMessages(retiredBody, '2026-10-21')),
      ['invalid_parameter', param],
    )
    assert.equal(decodeMessages(retiredBody).canonical.messages.length, 2)
  }
  const messages = [{ role: 'user', content: [paper] }, { role: 'assistant', content: [citedText] }, hi]
  assert.ok(decodeMessages({ model: 'm', max_tokens: 1, messages: messages }, '2026-10-21'))
  const nulls = Object.fromEntries(
    'temperature top_p stop tools tool_choice response_format seed n stream user max_tokens reasoning_effort stream_options logit_bias'
      .split(' ')
      .map((name) => [name, null]),
  )
  assert.deepEqual(decodeChat({ model: 'm', messages: [hi], ...nulls, something_new: null }), {
    canonical: { model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
    stream: false,
    includeUsage: false,
    losses: [],
  })
})

test('fields without a place in a turn are named as losses; fields without effect are not', () => {
  const { losses } = decodeChat({
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'input_audio', input_audio: {} },
        ],
      },
    ],
    logprobs: true,
    frequency_penalty: 0.5,
    presence_penalty: 0,
    logit_bias: {},
    service_tier: 'auto',
    verbosity: 'low',
    tools: [{ type: 'custom', custom: { name: 'x' } }],
    provider: { order: ['a'] },
    store: true,
  })
  assert.deepEqual(losses, ['logprobs', 'provider', 'store', 'tools.custom', 'messages.input_audio'])
  const only = (more: object) => decodeChat({ model: 'm', messages: [hi], ...more }).losses
  const further: Record<string, unknown> = {
    audio: { voice: 'a', format: 'wav' },
    logit_bias: { 1: 5 },
    top_logprobs: 2,
    modalities: ['text', 'video'],
    moderation: { model: 'x' },
    prediction: { type: 'content', content: 'x' },
    service_tier: 'flex',
    web_search_options: {},
    min_p: 0.1,
    top_a: 0.1,
    repetition_penalty: 1.1,
    image_config: { size: '1k' },
  }
  for (const [name, value] of Object.entries(further))
    assert.deepEqual(only({ [name]: value }), name === 'web_search_options' ? [] : [name])
  const body = { modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9', font_inputs: [] } }
  assert.deepEqual(only(body), ['image_config.font_inputs'])
  assert.deepEqual(only({ modalities: ['audio', 'text'], audio: { voice: 'a', format: 'wav' } }), [])
  assert.deepEqual(only({ response_format: { type: 'grammar', grammar: 'x' } }), ['response_format.grammar'])
  assert.deepEqual(only({ tool_choice: { type: 'custom', custom: { name: 'x' } } }), ['tool_choice'])
  const parts = [
    { type: 'video_url', video_url: { url: 'https://x' } },
    { type: 'file', file: { file_id: 'f' } },
  ]
  assert.deepEqual(only({ messages: [{ role: 'user', content: parts }] }), ['messages.video_url', 'messages.file_id'])
  const inB = (more: object) => decodeMessages({ model: 'm', max_tokens: 9, messages: [hi], ...more }).losses
  assert.deepEqual(inB({ container: 'c', inference_geo: 'us', speed: 'fast', mcp_servers: [{}] }), [
    'container',
    'inference_geo',
    'speed',
    'mcp_servers',
  ])
  assert.deepEqual(inB({ speed: 'standard', service_tier: 'standard_only', diagnostics: {}, betas: ['x'] }), [])
  const echoes = [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'container_upload', file_id: 'f' },
    { type: 'image', source: { type: 'file', file_id: 'f' } },
  ]
  assert.deepEqual(inB({ messages: [{ role: 'user', content: echoes }] }), [
    'messages.server_tool_use',
    'messages.container_upload',
    'messages.image.file_id',
  ])
  const claudeCode = decodeMessages({
    model: 'm',
    max_tokens: 64_000,
    messages: [hi, { role: 'system', content: 'be brief' }],
    context_management: { edits: [] },
    thinking: { type: 'adaptive', display: 'omitted' },
    output_config: { effort: 'max' },
    metadata: { user_id: '{"device":"x"}' },
    tools: [
      { name: 'f', input_schema: { type: 'object' }, defer_loading: true },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
  })
  assert.deepEqual(claudeCode.losses, ['context_management', 'tools.defer_loading', 'tools.web_search_20250305'])
  assert.deepEqual(claudeCode.canonical.reasoning, { effort: 'max', exclude: true })
  assert.deepEqual(claudeCode.canonical.messages[1], { role: 'system', content: [{ type: 'text', text: 'be brief' }] })
})

test('fields named like properties of JavaScript objects are ordinary unknown fields', () => {
  for (const name of ['__proto__', 'constructor', '__defineGetter__', 'toString']) {
    const withField = (fields: object) => JSON.parse(JSON.stringify(fields).replace('{', `{"${name}":{"a":1},`))
    const chat = withField({ model: 'm', max_tokens: 9, messages: [hi] })
    assert.deepEqual(decodeChat(chat).losses, [name])
    assert.deepEqual(decodeMessages(chat).losses, [name])
    const response = withField({ model: 'm', input: 'hi' })
    assert.deepEqual(decodeResponses(response).losses, [name])
  }
})

test('no request makes a translation throw anything but a refusal', () => {
  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        null,
        0,
        -1,
        1.5,
        true,
        '',
        'auto',
        'user',
        'tool',
        'text',
        'function',
        'tool_use',
        'tool_result',
        'custom',
        'image',
        'thinking',
        'data:image/png;base64,AA',
      ),
      tie('list'),
      tie('record'),
    ),
    list: fc.array(tie('json'), { maxLength: 3 }),
    record: fc.dictionary(
      fc.constantFrom(
        'role',
        'content',
        'type',
        'text',
        'tool_calls',
        'function',
        'name',
        'id',
        'image_url',
        'url',
        'input',
        'source',
        'tool_call_id',
        'tool_use_id',
        'input_schema',
        'parameters',
        'signature',
        'toString',
        '__proto__',
        'reasoning_details',
      ),
      tie('json'),
      { maxKeys: 4 },
    ),
  })).json
  const fields = fc.dictionary(
    fc.constantFrom(
      'system',
      'tools',
      'tool_choice',
      'reasoning',
      'thinking',
      'response_format',
      'stop',
      'output_config',
      'metadata',
      'temperature',
      'constructor',
      '__proto__',
    ),
    value,
    { maxKeys: 3 },
  )
  const message = fc.record(
    { role: fc.constantFrom('user', 'assistant', 'system', 'tool'), content: value },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), fields, (messages, more) => {
      const body = JSON.parse(JSON.stringify({ model: 'm', max_tokens: 2000, messages, ...more }))
      isMixed(body)
      for (const decode of [decodeChat, decodeMessages]) {
        refusal(() => {
          const { canonical } = decode(body)
          for (const encode of [encodeChat, encodeMessages]) {
            for (const target of [claude, old, gpt, other])
              refusal(() => JSON.stringify(encode(canonical, target, { stream: true })))
          }
        })
      }
    }),
    { numRuns: 1000 },
  )
})
