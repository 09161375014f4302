import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic, { APIError as MessagesError } from '@anthropic-ai/sdk'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let claude: Vendor
let gpt: Vendor
let openai: OpenAI
let anthropic: Anthropic
let openrouter: ReturnType<typeof createOpenRouter>

before(async () => {
  claude = await startAnthropic()
  gpt = await startOpenAI({ models: [{ id: 'gpt-4o' }, { id: 'o4-mini', reasons: true }, { id: 'both' }] })
  world = await gatewayWorld()
  const asAnthropic = { shape: 'anthropic-messages', base_url: claude.origin }
  await world.bring(claude, 'an', {
    ...asAnthropic,
    models: [pricedModel('claude-sonnet-5-5'), pricedModel('claude-haiku-4-5')],
  })
  const reasons = { capabilities: ['tools', 'reasoning'], max_output_tokens: 30_000 }
  await world.bring(gpt, 'oa', { preset: 'openai', models: [pricedModel('gpt-4o'), pricedModel('o4-mini', reasons)] })
  const { key } = world.key
  const { origin } = world.server
  openai = new OpenAI({ apiKey: key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey: key, baseURL: `${origin}/compat-b`, maxRetries: 0 })
  openrouter = createOpenRouter({ apiKey: key, baseURL: `${origin}/compat-c/v1`, compatibility: 'strict' })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await claude[Symbol.asyncDispose]()
  await gpt[Symbol.asyncDispose]()
})

const haiku = 'an/claude-haiku-4-5'
const sentTo = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!.json()
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

const twoCalls = {
  text: 'I look.',
  tools: [
    { name: 'weather', arguments: { city: 'Kyōto' } },
    { name: 'weather', arguments: { city: 'Oslo' } },
  ],
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('an OpenAI client talks to Claude: text whole and streamed, usage in its own format, the same cost', async () => {
  claude.script({ reply: 'Hello 東京', usage: { input: 50, cached: 20, cacheWrite: 10, output: 7 }, times: 2 })
  const { data, response } = await openai.chat.completions
    .create({ model: haiku, messages: userMessages('hi'), max_tokens: 64 })
    .withResponse()
  assert.deepEqual([data.choices[0]?.message.content, data.choices[0]?.finish_reason], ['Hello 東京', 'stop'])
  assert.deepEqual(
    [data.usage?.prompt_tokens, data.usage?.prompt_tokens_details?.cached_tokens, data.usage?.completion_tokens],
    [50, 20, 7],
  )
  assert.equal(response.headers.get('x-uk-losses'), null, 'nothing was lost, so nothing is said')
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual(
    [call.surface, call.provider, call.input_tokens, call.cache_read_tokens, call.cache_write_5m_tokens],
    ['compat-a', 'an', 20n, 20n, 10n],
  )
  assert.equal(call.cost_nano, 20_000n + 20_000n + 10_000n + 14_000n)

  const stream = openai.chat.completions.stream({
    model: haiku,
    messages: userMessages('hi'),
    stream_options: { include_usage: true },
  })
  const streamedCompletion = await stream.finalChatCompletion()
  assert.equal(streamedCompletion.choices[0]?.message.content, 'Hello 東京')
  assert.equal(streamedCompletion.usage?.total_tokens, 57)
})

test('an OpenAI client’s system messages, image, PDF, stop, and schema reach Claude in its own format', async () => {
  claude.script({ reply: '{"a":1}', usage: { input: 5, output: 3 } })
  await openai.chat.completions.create({
    model: haiku,
    stop: ['END', 'FIN'],
    user: 'ada',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${png}` } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0xLjQ=', filename: 'a.pdf' } },
        ],
      },
      { role: 'assistant', content: 'A dot.' },
      { role: 'system', content: 'Now in French.' },
      { role: 'user', content: 'Again?' },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object', properties: {} } } },
  })
  const body = sentTo(claude)
  assert.deepEqual(body['system'], [{ type: 'text', text: 'Be brief.' }])
  assert.deepEqual(body['stop_sequences'], ['END', 'FIN'])
  const [first, , last] = body['messages']
  assert.deepEqual(
    first.content.map((block: { type: string }) => block.type),
    ['text', 'image', 'document'],
  )
  assert.equal(first.content[1].source.media_type, 'image/png', 'as the bytes show, not as the client said')
  assert.match(JSON.stringify(last), /<system>\\nNow in French\.\\n<\/system>.*Again\?/)
  assert.equal(body['output_config'].format.type, 'json_schema')
})

test('parallel tools with streamed arguments make the round trip: OpenAI client, Claude behind it', async () => {
  claude.script({ reply: twoCalls }, { reply: 'Cold in both.' })
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = userMessages('Weather?')
  const request = { model: haiku, tools: [weather], parallel_tool_calls: true }
  const stream = openai.chat.completions.stream({ ...request, messages })
  const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0]!
  assert.equal(finish_reason, 'tool_calls')
  const calls = message.tool_calls!.flatMap((call) => (call.type === 'function' ? [call] : []))
  assert.deepEqual(
    calls.map((call) => JSON.parse(call.function.arguments)),
    [{ city: 'Kyōto' }, { city: 'Oslo' }],
  )
  const results = calls
    .toReversed()
    .map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: `cold (${id})` }))
  const next = await openai.chat.completions.create({ ...request, messages: [...messages, message, ...results] })
  assert.equal(next.choices[0]?.message.content, 'Cold in both.')
  const blocks = sentTo(claude)['messages'][2].content
  assert.deepEqual(
    blocks.map((block: { tool_use_id: string }) => block.tool_use_id),
    calls.map(({ id }) => id),
    'results in one message, matched by id',
  )
})

test('an Anthropic client talks to GPT: text, tools, images in results, stop reasons, and usage', async () => {
  gpt.script({ reply: 'Salut', usage: { input: 40, cached: 15, output: 9, reasoning: 4 } }, { reply: twoCalls }, {})
  const { data, response } = await anthropic.messages
    .create({ model: 'oa/gpt-4o', max_tokens: 64, messages: userMessages('hi'), system: 'Be brief.' })
    .withResponse()
  assert.deepEqual([data.content[0]?.type === 'text' && data.content[0].text, data.stop_reason], ['Salut', 'end_turn'])
  assert.deepEqual([data.usage.input_tokens, data.usage.cache_read_input_tokens, data.usage.output_tokens], [25, 15, 9])
  assert.deepEqual(sentTo(gpt)['messages'][0], { role: 'system', content: 'Be brief.' })
  const call = await world.record(response.headers.get('request-id')!)
  assert.deepEqual([call.output_tokens, call.reasoning_tokens, call.cost_nano], [5n, 4n, 40_000n + 18_000n])

  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
  const ask = { model: 'oa/gpt-4o', max_tokens: 64, tools }
  const first = await anthropic.messages.stream({ ...ask, messages: userMessages('Weather?') }).finalMessage()
  assert.equal(first.stop_reason, 'tool_use')
  const uses = first.content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
  assert.deepEqual(
    uses.map(({ input }) => input),
    [{ city: 'Kyōto' }, { city: 'Oslo' }],
  )
  const image = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: png },
  }
  await anthropic.messages.create({
    ...ask,
    messages: [
      ...userMessages('Weather?'),
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: uses[1]!.id, content: [image], is_error: true },
          { type: 'tool_result', tool_use_id: uses[0]!.id, content: 'sunny' },
          { type: 'text', text: 'So?' },
        ],
      },
    ],
  })
  const roles = sentTo(gpt)['messages'].map(({ role }: { role: string }) => role)
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'user', 'user'])
})

test('JSON output is requested by instruction as a last resort', async () => {
  const response_format = { type: 'json_object' as const }
  const request = openai.chat.completions
    .create({ model: haiku, messages: userMessages('x'), response_format })
    .withResponse()
  assert.equal((await request).response.headers.get('x-uk-losses'), 'response_format')
  assert.match(sentTo(claude)['system'][0].text, /a single JSON object/)
})

test('a response schema is strict at GPT only where GPT accepts it as such', async () => {
  const closedSchema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  }
  for (const [schema, strict] of [
    [closedSchema, true],
    [{ ...closedSchema, required: [] }, false],
    [{ ...closedSchema, additionalProperties: true }, false],
  ] as const) {
    const output_config = { format: { type: 'json_schema' as const, schema } }
    await anthropic.messages.create({ model: 'oa/gpt-4o', max_tokens: 64, messages: userMessages('x'), output_config })
    const { json_schema: sentSchema } = sentTo(gpt)['response_format']
    assert.deepEqual([sentSchema.strict, sentSchema.schema], [strict, schema])
  }
})

test('reasoning and its signature go to an OpenRouter client and return to Claude byte for byte', async () => {
  const reasoning = { reasoning: 'let me see', signature: 'c2lnbmVkIGJ5IGNsYXVkZQ==' }
  claude.script(
    { reply: { ...reasoning, tools: [{ name: 'weather', arguments: { city: 'Oslo' } }] } },
    { reply: 'Snow.', usage: { input: 9, output: 2 } },
  )
  const lookup = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `snow in ${city}` })
  const loop = streamText({
    model: openrouter(haiku, { reasoning: { max_tokens: 2000 } }),
    prompt: 'Oslo?',
    maxOutputTokens: 4000,
    tools: { weather: lookup },
    stopWhen: stepCountIs(3),
  })
  assert.equal(await loop.text, 'Snow.')
  assert.equal((await loop.steps)[0]?.reasoningText, 'let me see')
  const body = sentTo(claude)
  assert.deepEqual(body['thinking'], { type: 'enabled', budget_tokens: 2000 })
  assert.deepEqual(body['messages'][1].content[0], {
    type: 'thinking',
    thinking: reasoning.reasoning,
    signature: reasoning.signature,
  })
})

test('losses are reported; with x-uk-strict they are refused before anything is spent', async () => {
  const before = claude.requests.length
  const body = { model: haiku, messages: userMessages('hi'), n: 2, seed: 7, logit_bias: { '1': 5 }, 'weird\nfield': 1 }
  const answer = await world.key.post('/compat-a/v1/chat/completions', body)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('x-uk-losses'), 'logit_bias, weird_field, seed, n')
  const strict = await world.key.post('/compat-a/v1/chat/completions', body, { 'x-uk-strict': '1' })
  assert.equal(strict.status, 400)
  assert.match(strict.body.error.message, /`logit_bias`, `weird\nfield`, `seed`, `n`/)
  assert.equal(strict.body.error.type, 'invalid_request_error')
  const messages = await world.key.post(
    '/compat-b/v1/messages',
    { model: 'oa/gpt-4o', max_tokens: 9, messages: userMessages('hi'), top_k: 3 },
    { 'x-uk-strict': '1' },
  )
  assert.deepEqual([messages.status, messages.body.error.type], [400, 'invalid_request_error'])
  const simulatedResponse = await world.key.post(
    '/compat-c/v1/chat/completions',
    { model: 'sim/echo', messages: userMessages('hi'), n: 2, logprobs: true },
    { 'x-uk-strict': '1' },
  )
  assert.deepEqual([simulatedResponse.status, simulatedResponse.body.error.code], [400, 400])
  assert.match(simulatedResponse.body.error.message, /`logprobs`, `n`/)
  assert.equal(claude.requests.length, before + 1)
  const fine = await world.key.post(
    '/compat-a/v1/chat/completions',
    { model: haiku, messages: userMessages('hi') },
    { 'x-uk-strict': '1' },
  )
  assert.equal(fine.status, 200, fine.text)
  const metrics = await fetch(`${world.server.origin}/metrics`).then((one) => one.text())
  assert.match(metrics, /uk_gateway_losses_total\{surface="compat-a",shape="anthropic-messages",field="logit_bias"\} 1/)
})

test('an Anthropic client talks to Ollama: its calls come whole, and its swallowed error isn’t taken for an answer', async () => {
  await using ollama = await startOllama()
  await world.bring(ollama, 'll', { shape: 'ollama', base_url: ollama.origin, models: [pricedModel('qwen3:4b')] })
  ollama.script({ reply: { reasoning: 'hm', ...twoCalls } })
  const ask = { model: 'll/qwen3:4b', max_tokens: 64, messages: userMessages('Weather?') }
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
  const message = await anthropic.messages.stream({ ...ask, tools }).finalMessage()
  assert.deepEqual(
    message.content.map(({ type }) => type),
    ['thinking', 'text', 'tool_use', 'tool_use'],
  )
  assert.equal(ollama.requests.at(-1)!.path, '/v1/chat/completions')
  ollama.script({ reply: 'a b c d e f', midStreamError: true })
  await assert.rejects(anthropic.messages.stream(ask).finalMessage(), (error) => error instanceof MessagesError)
})

test('providers that reject reasoning in the history get none, and the response lists what was left out', async () => {
  await world.bring(gpt, 'gq', { preset: 'groq', models: [pricedModel('gpt-4o')] })
  const reasoningMessage = { role: 'assistant', content: 'A dot.', reasoning_content: 'hm' }
  const body = { model: 'gq/gpt-4o', messages: [...userMessages('hi'), reasoningMessage, ...userMessages('again')] }
  const answer = await world.key.post('/compat-a/v1/chat/completions', body)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(sentTo(gpt)['messages'][1], { role: 'assistant', content: 'A dot.' })
  assert.equal(answer.headers.get('x-uk-losses'), 'messages.reasoning')
  await world.key.post('/compat-a/v1/chat/completions', { ...body, model: 'oa/gpt-4o' })
  assert.equal(sentTo(gpt)['messages'][1].reasoning_content, 'hm', 'elsewhere the bytes travel')
})

test('tools that Anthropic’s clients run themselves work with any model', async () => {
  gpt.script({ reply: { tools: [{ name: 'bash', arguments: { command: 'ls' } }] } })
  const message = await anthropic.messages.create({
    model: 'oa/gpt-4o',
    max_tokens: 64,
    messages: userMessages('list'),
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'memory_20250818', name: 'memory' },
    ],
  })
  const [use] = message.content
  assert.deepEqual(use?.type === 'tool_use' && [use.name, use.input], ['bash', { command: 'ls' }])
  const { function: editor } = sentTo(gpt)['tools'][1]
  assert.ok(editor.parameters.properties.insert_text)
  const { function: memory } = sentTo(gpt)['tools'][2]
  assert.ok(memory.name === 'memory' && memory.parameters.properties.old_path)
})

test('the AI SDK generates text from Claude through OpenRouter’s shape', async () => {
  claude.script({ reply: 'Hi there', usage: { input: 11, output: 4 } })
  const { text, usage } = await generateText({ model: openrouter(haiku), prompt: 'hi' })
  assert.deepEqual([text, usage.inputTokens, usage.outputTokens], ['Hi there', 11, 4])
})
