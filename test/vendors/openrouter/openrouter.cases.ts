import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import type { EventStream } from '@openrouter/sdk/lib/event-streams.js'
import type { ChatStreamChunk } from '@openrouter/sdk/models'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { startOpenRouter } from './openrouter.ts'
import type { Json, Vendor } from '../vendor.ts'

const name = 'anthropic/claude-sonnet-5.5'
const model = (vendor: Vendor, id = name, settings: Json = {}) =>
  createOpenRouter({ apiKey: vendor.key, baseURL: `${vendor.origin}/api/v1` }).chat(id, settings)
const weather = tool({
  inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
  execute: async ({ city }) => `sunny in ${city}`,
})

describe('@openrouter/ai-sdk-provider 3.1 through ai', () => {
  test('text with provider and cost', async () => {
    await using vendor = await startOpenRouter()
    vendor.script({ reply: 'Hello 東京', usage: { input: 100, output: 10, cached: 40 } })
    const answer = await generateText({ model: model(vendor), prompt: 'Hi', maxRetries: 0 })
    assert.equal(answer.text, 'Hello 東京')
    assert.equal(answer.finishReason, 'stop')
    const metadata = answer.providerMetadata?.['openrouter'] as Json
    assert.equal(metadata['provider'], 'Anthropic')
    assert.equal(metadata['usage'].cost, 60 * 0.000003 + 40 * 0.0000003 + 10 * 0.000015)
    assert.equal(answer.response.headers?.['x-generation-id'], answer.response.id)
  })

  test('stream: comments, reasoning with its signature, a tool loop', async () => {
    await using vendor = await startOpenRouter()
    vendor.script({
      reply: {
        reasoning: 'Look outside.',
        signature: 'c2ln',
        tools: [{ name: 'weather', arguments: { city: 'Kyōto' } }],
      },
    })
    const result = streamText({
      model: model(vendor),
      prompt: 'Weather?',
      tools: { weather },
      stopWhen: stepCountIs(2),
      maxRetries: 0,
    })
    const parts: string[] = []
    for await (const part of result.fullStream) parts.push(part.type)
    assert.equal(await result.text, 'Weather?')
    const [first] = await result.steps
    assert.equal(first?.reasoningText, 'Look outside.')
    assert.equal(first?.finishReason, 'tool-calls')
    assert.deepEqual(
      first?.toolResults.map((one) => one.output),
      ['sunny in Kyōto'],
    )
    const sentMessages = vendor.requests[1]?.json()['messages'] as Json[]
    assert.match(JSON.stringify(sentMessages), /"signature":"c2ln"/)
    assert.equal(parts.includes('error'), false)
  })

  test('usage also comes with an empty delta', async () => {
    await using vendor = await startOpenRouter({ usageChoices: 'one' })
    vendor.script({ usage: { input: 5, output: 6 } })
    const result = streamText({ model: model(vendor), prompt: 'Hi', maxRetries: 0 })
    assert.equal(await result.text, 'Hi')
    assert.equal((await result.usage).totalTokens, 11)
  })
})

describe('@openrouter/ai-sdk-provider 3.1 through ai, errors and routing', () => {
  test('errors with integer codes', async () => {
    await using vendor = await startOpenRouter()
    for (const [status, type] of [
      [402, 'payment_required'],
      [429, 'rate_limit_exceeded'],
      [502, 'provider_unavailable'],
    ] as const) {
      vendor.script({ status, message: 'no luck' })
      await assert.rejects(generateText({ model: model(vendor), prompt: 'Hi', maxRetries: 0 }), (error) => {
        assert.ok(APICallError.isInstance(error))
        assert.equal(error.statusCode, status)
        const { code, metadata } = (error.data as Json)['error']
        assert.deepEqual([code, metadata.error_type], [status, type])
        return true
      })
    }
    await assert.rejects(generateText({ model: model(vendor, 'nobody/nothing'), prompt: 'Hi', maxRetries: 0 }), {
      statusCode: 400,
    })
    const nowhere = { provider: { only: ['azure'] } }
    await assert.rejects(generateText({ model: model(vendor, name, nowhere), prompt: 'Hi', maxRetries: 0 }), {
      statusCode: 404,
    })
  })

  test('a stream that breaks', async () => {
    await using vendor = await startOpenRouter()
    vendor.script({ midStreamError: { status: 502, message: 'burst' } })
    const errors: unknown[] = []
    const result = streamText({
      model: model(vendor),
      prompt: 'one two three',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    await result.consumeStream()
    assert.equal((errors[0] as Json | undefined)?.['code'], 502)
    assert.equal(await result.finishReason, 'error')
  })

  test('fallbacks, providers, models, key and credits', async () => {
    await using vendor = await startOpenRouter()
    const headers = { authorization: `Bearer ${vendor.key}` }
    const get = async (path: string) =>
      (await (await fetch(`${vendor.origin}/api/v1${path}`, { headers })).json()) as Json
    const models = (await get('/models'))['data'] as Json[]
    assert.ok(models.every((one) => Object.values(one['pricing']).every((price) => typeof price === 'string')))
    assert.equal((await get('/key'))['data'].limit_remaining, 18.5)
    assert.deepEqual((await get('/credits'))['data'], { total_credits: 20, total_usage: 1.5 })
    const order = { models: [name], provider: { order: ['google-vertex'] } }
    const answer = await generateText({ model: model(vendor, 'nobody/nothing', order), prompt: 'Hi', maxRetries: 0 })
    assert.equal(answer.response.modelId, name)
    assert.partialDeepStrictEqual(answer.providerMetadata?.['openrouter'], { provider: 'Google' })
    const raw = await fetch(`${vendor.origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    assert.equal(((await raw.json()) as Json)['choices'][0].native_finish_reason, 'end_turn')
  })
})

test('@openrouter/sdk 1.3 streams from it: no null where it expects an object or text, and all reasoning has its format', async () => {
  for (const usageChoices of ['none', 'one'] as const) {
    await using vendor = await startOpenRouter({ usageChoices })
    const client = new OpenRouter({ apiKey: vendor.key, serverURL: `${vendor.origin}/api/v1` })
    vendor.script({ reply: { reasoning: 'Look outside.', text: 'Hello', tools: [{ name: 'weather' }] } })
    const chatRequest = { model: name, messages: [{ role: 'user' as const, content: 'Hi' }], stream: true as const }
    const formats: unknown[] = []
    let text = ''
    let total = 0
    const stream = (await client.chat.send({ chatRequest })) as EventStream<ChatStreamChunk>
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      formats.push(...(chunk.choices[0]?.delta.reasoningDetails ?? []).map((one) => (one as Json)['format']))
      total = chunk.usage?.totalTokens ?? total
    }
    assert.equal(text, 'Hello')
    assert.ok(total > 0)
    assert.ok(formats.length > 1 && formats.every((format) => format === 'anthropic-claude-v1'))
  }
})
