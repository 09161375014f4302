import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { startOpenAI } from '../../../../vendors/openai/openai.ts'
import { startOpenRouter } from '../../../../vendors/openrouter/openrouter.ts'
import type { Vendor } from '../../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../../world.ts'

let world: World
let vendor: Vendor
let other: Vendor
let terse: Vendor
let openrouter: ReturnType<typeof createOpenRouter>

before(async () => {
  vendor = await startOpenRouter()
  other = await startOpenAI()
  terse = await startOpenAI({ terse: true })
  world = await gatewayWorld()
  const models = [pricedModel('openai/gpt-4o-mini')]
  await world.bring(vendor, 'or', { preset: 'openrouter', base_url: `${vendor.origin}/api/v1`, models })
  await world.bring(other, 'oa', { models: [pricedModel('gpt-4o')] })
  await world.bring(terse, 'terse', { models: [pricedModel('gpt-4o')] })
  openrouter = createOpenRouter({
    apiKey: world.key.key,
    baseURL: `${world.server.origin}/compat-c/v1`,
    compatibility: 'strict',
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  await terse[Symbol.asyncDispose]()
})

const model = 'or/openai/gpt-4o-mini'
const lastRequest = () => vendor.requests.findLast(({ method }) => method === 'POST')!

test('an OpenRouter provider receives every field, and its reported cost counts', async () => {
  vendor.script({ reply: 'Hello', usage: { input: 10, output: 5, cost: 0.0125 } })
  const answer = await world.key.post(
    '/openrouter/api/v1/chat/completions',
    {
      model,
      messages: userMessages('hi'),
      provider: { sort: 'price', allow_fallbacks: true },
      models: ['openai/gpt-4o-mini'],
      usage: { include: true },
    },
    { 'http-referer': 'https://app.example', 'x-title': 'App', 'x-session-id': 's1' },
  )
  assert.equal(answer.status, 200, answer.text)
  const { headers } = lastRequest()
  assert.deepEqual(lastRequest().json().provider, { sort: 'price', allow_fallbacks: true })
  assert.deepEqual(
    [headers['http-referer'], headers['x-title'], headers['x-session-id']],
    ['https://app.example', 'App', 's1'],
  )
  const call = await world.record(answer.headers.get('x-request-id')!)
  assert.deepEqual([call.cost_nano, call.cost_source], [12_500_000n, 'reported'])
})

test('the AI SDK: text, stream with usage, and a tool loop, from an OpenRouter and from another provider', async () => {
  for (const [id, shop] of [
    [model, vendor],
    ['oa/gpt-4o', other],
  ] as const) {
    shop.script({ reply: 'Hi there' }, { reply: 'a b c', usage: { input: 11, output: 4 } })
    assert.equal((await generateText({ model: openrouter(id), prompt: 'hi' })).text, 'Hi there')
    const stream = streamText({ model: openrouter(id), prompt: 'hi' })
    assert.equal(await stream.text, 'a b c')
    const { inputTokens, outputTokens } = await stream.usage
    assert.deepEqual([inputTokens, outputTokens], [11, 4], 'compat-c always says what was used')

    shop.script({ reply: { tools: [{ name: 'weather', arguments: { city: 'Oslo' } }] } }, { reply: 'Snow.' })
    const weather = tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `snow in ${city}` })
    const result = await generateText({
      model: openrouter(id),
      prompt: 'Oslo?',
      tools: { weather },
      stopWhen: stepCountIs(3),
    })
    assert.equal(result.text, 'Snow.')
  }
})

test('a truncated stream ends with the frame that OpenRouter’s clients know', async () => {
  other.script({ reply: 'one two three four', garbage: 'closes socket' })
  const answer = await world.key.post('/compat-c/v1/chat/completions', {
    model: 'oa/gpt-4o',
    messages: userMessages('x'),
    stream: true,
  })
  assert.equal(answer.status, 200)
  const last = JSON.parse(answer.text.trim().split('\n\n').at(-1)!.slice('data: '.length))
  assert.deepEqual([last.error.code, last.choices[0].finish_reason], [502, 'error'])
  assert.equal((await world.record(answer.headers.get('x-request-id')!)).status, 'failed')
})

const lastFrame = (text: string) => JSON.parse(text.trim().split('\n\n').at(-1)!.slice('data: '.length))
const streamOf = (surface: string, id: string) =>
  world.key.post(`/${surface}/v1/chat/completions`, { model: id, messages: userMessages('a b c d'), stream: true })

test('a vendor’s own error frame is converted to the client’s: OpenAI’s beside a choice, OpenRouter’s alone', async () => {
  const busy = { status: 503, type: 'overloaded_error', code: 'busy', message: 'Too much at once.' }
  other.script({ reply: 'one two three', midStreamError: busy })
  const onC = await streamOf('compat-c', 'oa/gpt-4o')
  const { error, choices, ...head } = lastFrame(onC.text)
  assert.deepEqual([error.code, error.message, error.metadata.error_type], [503, busy.message, 'provider_overloaded'])
  assert.deepEqual(choices, [
    { index: 0, delta: { content: '' }, logprobs: null, finish_reason: 'error', native_finish_reason: 'error' },
  ])
  assert.deepEqual([head.object, head.provider], ['chat.completion.chunk', 'oa'])
  vendor.script({ reply: 'one two three', midStreamError: { ...busy, type: 'provider_overloaded' } })
  const onA = await streamOf('compat-a', model)
  assert.deepEqual(lastFrame(onA.text), {
    error: { message: busy.message, type: 'server_error', param: null, code: 'overloaded' },
  })
  assert.match(onA.text, /"content":"one/)
})

test('keys that strict clients require are added if a server of the shape leaves them out', async () => {
  const whole = await world.key.post('/compat-c/v1/chat/completions', {
    model: 'terse/gpt-4o',
    messages: userMessages('hi'),
  })
  assert.equal(whole.body.system_fingerprint, null)
  const { text } = await streamOf('compat-c', 'terse/gpt-4o')
  const chunks = text
    .split('\n\n')
    .flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6))] : []))
  assert.ok(chunks.length > 3)
  for (const { object, created: createdAt, choices } of chunks) {
    assert.deepEqual([object, typeof createdAt], ['chat.completion.chunk', 'number'])
    for (const choice of choices) assert.ok('finish_reason' in choice && 'native_finish_reason' in choice)
  }
})

test('a refusal by a vendor’s moderation is forbidden on every surface, and not to be retried', async () => {
  const moderation = { status: 403, message: 'Your input was flagged by our moderation.' }
  for (const [surface, path, type] of [
    ['compat-a', 'chat/completions', 'permission_error'],
    ['compat-b', 'messages', 'permission_error'],
    ['compat-c', 'chat/completions', 'permission_denied'],
  ] as const) {
    other.script(moderation)
    const body = { model: 'oa/gpt-4o', max_tokens: 9, messages: userMessages('x') }
    const answer = await world.key.post(`/${surface}/v1/${path}`, body)
    const { error } = answer.body
    assert.deepEqual([answer.status, error.metadata?.error_type ?? error.type], [403, type])
    assert.equal(other.pending(), 0)
  }
})

test('models are listed with prices per token', async () => {
  const { body } = await world.key.get('/compat-c/v1/models')
  const row = body.data.find(({ id }: { id: string }) => id === 'oa/gpt-4o')
  assert.deepEqual([row.pricing.prompt, row.pricing.completion], ['0.000001', '0.000002'])
  assert.equal((await world.key.get('/compat-c/api/v1/models/oa%2Fgpt-4o')).body.data.id, 'oa/gpt-4o')
  assert.equal((await world.key.get(row.links.details)).body.data.endpoints[0].tag, 'oa')
})
