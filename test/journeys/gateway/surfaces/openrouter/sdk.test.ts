import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import type { EventStream } from '@openrouter/sdk/lib/event-streams.js'
import type { ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import { startAnthropic } from '../../../../vendors/anthropic/anthropic.ts'
import { startOllama } from '../../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../../world.ts'

let world: World
let claude: Vendor
let deep: Vendor
let gpt: Vendor
let llama: Vendor
let client: OpenRouter

before(async () => {
  claude = await startAnthropic()
  deep = await startOpenAI({ models: [{ id: 'deep', reasons: true }], reasoningField: 'reasoning_content' })
  gpt = await startOpenAI()
  llama = await startOllama()
  world = await gatewayWorld()
  const can = { capabilities: ['tools', 'reasoning'] }
  await world.bring(claude, 'an', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-sonnet-5-5', can)],
  })
  await world.bring(deep, 'ds', { models: [pricedModel('deep', can)] })
  await world.bring(gpt, 'oa', { models: [pricedModel('gpt-4o', { capabilities: ['tools'] })] })
  await world.bring(llama, 'll', { shape: 'ollama', base_url: llama.origin, models: [pricedModel('qwen3:4b', can)] })
  client = new OpenRouter({
    apiKey: world.key.key,
    serverURL: `${world.server.origin}/compat-c/v1`,
    retryConfig: { strategy: 'none' },
  })
})
afterEach(() => {
  for (const vendor of [claude, deep, gpt, llama]) vendor.unscript()
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [claude, deep, gpt, llama]) await vendor[Symbol.asyncDispose]()
})

const thinking = [
  ['an/claude-sonnet-5-5', () => claude],
  ['ds/deep', () => deep],
  ['ll/qwen3:4b', () => llama],
] as const
const all = [...thinking, ['oa/gpt-4o', () => gpt]] as const

const tools = [
  {
    type: 'function' as const,
    function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
]
const paramsFor = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user' as const, content: 'Weather?' }],
  tools,
  ...more,
})

type StreamedAnswer = {
  error: unknown
  text: string
  thought: string
  calls: string
  finish: unknown
  tokens: number | undefined
  formats: unknown[]
}

async function streamAnswer(model: string, more: object = {}): Promise<StreamedAnswer> {
  const chatRequest = { ...paramsFor(model, more), stream: true as const }
  const stream = (await client.chat.send({ chatRequest })) as EventStream<ChatStreamChunk>
  const result: StreamedAnswer = {
    text: '',
    thought: '',
    calls: '',
    finish: null,
    tokens: undefined,
    formats: [],
    error: undefined,
  }
  for await (const chunk of stream) {
    const choice = chunk.choices[0]
    result.text += choice?.delta.content ?? ''
    result.thought += choice?.delta.reasoning ?? ''
    result.calls += (choice?.delta.toolCalls ?? []).map((call) => call.function?.arguments ?? '').join('')
    result.error = chunk.error ?? result.error
    result.finish = choice?.finishReason ?? result.finish
    result.tokens = chunk.usage?.totalTokens ?? result.tokens
    result.formats.push(...((choice?.delta.reasoningDetails ?? []) as Json[]).map((one) => one['format']))
  }
  return result
}

async function whole(model: string, more: object = {}): Promise<ChatResult> {
  return (await client.chat.send({ chatRequest: paramsFor(model, more) })) as ChatResult
}

for (const [model, vendorOf] of all)
  test(`the official SDK streams text, a call, and the usage from ${model}, and reads them whole`, async () => {
    const reply = { text: 'I look.', tools: [{ name: 'weather', arguments: { city: 'Kyōto' } }] }
    vendorOf().script({ reply, usage: { input: 100, output: 25 }, times: 2 })
    const result = await streamAnswer(model)
    assert.deepEqual(
      [result.text, JSON.parse(result.calls), result.finish, result.tokens],
      ['I look.', { city: 'Kyōto' }, 'tool_calls', 125],
    )
    const answer = await whole(model)
    assert.equal(answer.choices[0]!.message.content, 'I look.')
    assert.equal(answer.usage?.totalTokens, 125)
  })

for (const [model, vendorOf] of thinking)
  test(`the official SDK reads the reasoning of ${model}, each piece with its format, and none where it is hidden`, async () => {
    const vendor = vendorOf()
    const reply = { reasoning: 'Look outside first.', text: 'Sunny.' }
    vendor.script({ reply, times: 6 })
    const result = await streamAnswer(model, { reasoning: { effort: 'low' } })
    assert.deepEqual([result.text, result.thought], ['Sunny.', 'Look outside first.'])
    assert.ok(result.formats.length > 0)
    assert.ok(
      result.formats.every((format) => typeof format === 'string'),
      JSON.stringify(result.formats),
    )
    const answer = await whole(model, { reasoning: { effort: 'low' } })
    const { message } = answer.choices[0]!
    assert.equal(message.reasoning, 'Look outside first.')
    assert.ok(((message.reasoningDetails ?? []) as Json[]).every(({ format }) => typeof format === 'string'))
    // The SDK sends neither `exclude` nor the older field, so both are sent without it.
    for (const hideField of [{ reasoning: { effort: 'low', exclude: true } }, { include_reasoning: false }])
      for (const stream of [false, true]) {
        const body = { ...paramsFor(model), reasoning: { effort: 'low' }, ...hideField, stream }
        const raw = await world.key.post('/compat-c/v1/chat/completions', body)
        assert.equal(raw.status, 200, raw.text)
        assert.doesNotMatch(raw.text, /outside|reasoning_details/)
      }
  })

test('a truncated stream is an SDK error, not an unreadable chunk', async () => {
  for (const [model, vendorOf] of all) {
    vendorOf().script({ reply: 'one two three four', midStreamError: { after: 3 } })
    const { error } = await streamAnswer(model).catch((error: unknown) => ({ error }))
    assert.ok(error, `${model} breaks in the middle and nobody is told`)
    const name = error instanceof Error ? error.name : ''
    assert.doesNotMatch(name, /Zod|Validation/, `${model}: ${JSON.stringify(error)}`)
  }
})
