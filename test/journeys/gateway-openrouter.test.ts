import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { startOpenAI } from '#test/vendors/openai.ts'
import { startOpenRouter } from '#test/vendors/openrouter.ts'
import type { Vendor } from '#test/vendors/vendor.ts'
import { type World, gatewayWorld, priced, said } from './gateway-world.ts'

let world: World
let vendor: Vendor
let other: Vendor
let openrouter: ReturnType<typeof createOpenRouter>

before(async () => {
  vendor = await startOpenRouter()
  other = await startOpenAI()
  world = await gatewayWorld()
  const models = [priced('openai/gpt-4o-mini')]
  await world.bring(vendor, 'or', { preset: 'openrouter', base_url: `${vendor.origin}/api/v1`, models })
  await world.bring(other, 'oa', { models: [priced('gpt-4o')] })
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
})

const model = 'or/openai/gpt-4o-mini'
const sent = () => vendor.requests.findLast(({ method }) => method === 'POST')!

test('an OpenRouter behind it gets every field, and what it reports as cost counts', async () => {
  vendor.script({ reply: 'Hello', usage: { input: 10, output: 5, cost: 0.0125 } })
  const answer = await world.key.post(
    '/openrouter/api/v1/chat/completions',
    {
      model,
      messages: said('hi'),
      provider: { sort: 'price', allow_fallbacks: true },
      models: ['openai/gpt-4o-mini'],
      usage: { include: true },
    },
    { 'http-referer': 'https://app.example', 'x-title': 'App', 'x-session-id': 's1' },
  )
  assert.equal(answer.status, 200, answer.text)
  const { headers } = sent()
  assert.deepEqual(sent().json().provider, { sort: 'price', allow_fallbacks: true })
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
    const looped = await generateText({
      model: openrouter(id),
      prompt: 'Oslo?',
      tools: { weather },
      stopWhen: stepCountIs(3),
    })
    assert.equal(looped.text, 'Snow.')
  }
})

test('a stream that breaks ends with the frame that OpenRouter’s clients know', async () => {
  other.script({ reply: 'one two three four', garbage: 'closes socket' })
  const answer = await world.key.post('/compat-c/v1/chat/completions', {
    model: 'oa/gpt-4o',
    messages: said('x'),
    stream: true,
  })
  assert.equal(answer.status, 200)
  const last = JSON.parse(answer.text.trim().split('\n\n').at(-1)!.slice('data: '.length))
  assert.deepEqual([last.error.code, last.choices[0].finish_reason], [502, 'error'])
  assert.equal((await world.record(answer.headers.get('x-request-id')!)).status, 'failed')
})

test('models are listed with prices per token', async () => {
  const { body } = await world.key.get('/compat-c/v1/models')
  const row = body.data.find(({ id }: { id: string }) => id === 'oa/gpt-4o')
  assert.deepEqual([row.pricing.prompt, row.pricing.completion], ['0.000001', '0.000002'])
  assert.equal((await world.key.get('/compat-c/api/v1/models/oa%2Fgpt-4o')).body.data.id, 'oa/gpt-4o')
})
