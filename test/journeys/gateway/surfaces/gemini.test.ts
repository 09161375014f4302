import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic, { APIError as MessagesError } from '@anthropic-ai/sdk'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, stepCountIs, tool } from 'ai'
import OpenAI, { APIError } from 'openai'
import { z } from 'zod'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let vendor: Vendor
let openai: OpenAI
let anthropic: Anthropic
let openrouter: ReturnType<typeof createOpenRouter>

before(async () => {
  vendor = await startGemini()
  world = await gatewayWorld()
  const models = [pricedModel('gemini-3.8-flash'), pricedModel('gemini-2.0-flash')]
  await world.bring(vendor, 'go', { preset: 'google', shape: 'gemini', base_url: `${vendor.origin}/v1beta`, models })
  const { key } = world.key
  const { origin } = world.server
  openai = new OpenAI({ apiKey: key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey: key, baseURL: `${origin}/compat-b`, maxRetries: 0 })
  openrouter = createOpenRouter({ apiKey: key, baseURL: `${origin}/compat-c/v1`, compatibility: 'strict' })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const model = 'go/gemini-3.8-flash'
const lastRequest = () => vendor.requests.findLast(({ method }) => method === 'POST')!
const twoCalls = {
  reasoning: 'hm',
  tools: [
    { name: 'weather', arguments: { city: 'Kyōto' } },
    { name: 'weather', arguments: {} },
  ],
}

test('an OpenAI client and an Anthropic client talk to Gemini, whole and streamed, at the same cost', async () => {
  vendor.script({ reply: 'Hello 東京', usage: { input: 50, cached: 20, output: 30, reasoning: 12 }, times: 3 })
  const { data, response } = await openai.chat.completions
    .create({ model, messages: userMessages('hi'), max_tokens: 64 })
    .withResponse()
  assert.deepEqual([data.choices[0]?.message.content, data.choices[0]?.finish_reason], ['Hello 東京', 'stop'])
  assert.deepEqual(
    [data.usage?.prompt_tokens, data.usage?.completion_tokens, data.usage?.completion_tokens_details?.reasoning_tokens],
    [50, 30, 12],
  )
  assert.equal(lastRequest().headers['x-goog-api-key'], vendor.key)
  assert.equal(lastRequest().query.get('alt'), 'sse')
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual([call.input_tokens, call.cache_read_tokens, call.output_tokens], [30n, 20n, 18n])
  assert.equal(call.cost_nano, 50_000n + 60_000n)
  const stream = openai.chat.completions.stream({ model, messages: userMessages('hi') })
  assert.equal((await stream.finalChatCompletion()).choices[0]?.message.content, 'Hello 東京')
  const message = anthropic.messages.stream({ model, max_tokens: 64, messages: userMessages('hi') })
  assert.equal(await message.finalText(), 'Hello 東京')
  const { usage } = await message.finalMessage()
  assert.deepEqual([usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens], [30, 20, 30])
})

test('parallel calls make the round trip with their signature, from each of the three clients', async () => {
  const weather = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
  vendor.script({ reply: twoCalls }, { reply: 'Cold.' })
  const tools = [{ type: 'function' as const, function: weather }]
  const ask: OpenAI.Chat.ChatCompletionMessageParam[] = userMessages('Weather?')
  const first = await openai.chat.completions.create({ model, messages: ask, tools })
  const { message } = first.choices[0]!
  const results = message.tool_calls!.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'cold' }))
  const next = await openai.chat.completions.create({ model, messages: [...ask, message, ...results], tools })
  assert.equal(next.choices[0]?.message.content, 'Cold.')
  const signatureOf = () => lastRequest().json()['contents'][1].parts[0].thoughtSignature
  const signature = Buffer.from('signed: hm').toString('base64')
  assert.equal(signatureOf(), signature)

  vendor.script({ reply: twoCalls }, { reply: 'Cold.' })
  const { parameters } = weather
  const own = [{ name: 'weather', input_schema: { ...parameters, type: 'object' as const } }]
  const body = { model, max_tokens: 64, tools: own }
  const { content } = await anthropic.messages.stream({ ...body, messages: userMessages('Weather?') }).finalMessage()
  const uses = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
  const firstAnswer = await anthropic.messages.create({
    ...body,
    messages: [
      ...userMessages('Weather?'),
      { role: 'assistant', content },
      {
        role: 'user',
        content: uses.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'cold' })),
      },
    ],
  })
  assert.equal(firstAnswer.stop_reason, 'end_turn')
  assert.equal(signatureOf(), signature)

  vendor.script({ reply: twoCalls }, { reply: 'Cold.' })
  const lookup = tool({ inputSchema: z.object({ city: z.string().optional() }), execute: () => 'cold' })
  const result = await generateText({
    model: openrouter(model),
    prompt: 'Weather?',
    tools: { weather: lookup },
    stopWhen: stepCountIs(3),
  })
  assert.equal(result.text, 'Cold.')
  assert.equal(signatureOf(), signature)
})

test('the signature also makes the round trip through the Responses API, sealed in the reasoning', async () => {
  vendor.script({ reply: twoCalls }, { reply: 'Cold.' })
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const request = {
    model,
    store: false,
    include: ['reasoning.encrypted_content' as const],
    tools: [{ type: 'function' as const, name: 'weather', parameters, strict: false }],
  }
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Weather?' }]
  const first = await openai.responses.create({ ...request, input })
  const results = first.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'cold' }]
      : [],
  )
  assert.equal(results.length, 2)
  const again = first.output as OpenAI.Responses.ResponseInputItem[]
  const next = await openai.responses.create({ ...request, input: [...input, ...again, ...results] })
  assert.equal(next.output_text, 'Cold.')
  const [part] = lastRequest().json()['contents'][1].parts
  assert.equal(part.thoughtSignature, Buffer.from('signed: hm').toString('base64'))
})

test('a client that drops the signature is still served', async () => {
  const call = { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: '{}' } }
  const answer = await openai.chat.completions.create({
    model,
    messages: [
      ...userMessages('Weather?'),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'cold' },
    ],
  })
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
})

test('a blocked prompt is filtered, a wrong key is the gateway’s problem, a full quota says when to retry', async () => {
  vendor.script({ reply: { refusal: 'no' } })
  const completion = await openai.chat.completions.create({ model, messages: userMessages('x') })
  assert.equal(completion.choices[0]?.finish_reason, 'content_filter')
  vendor.script({ finish: 'SAFETY', reply: '' })
  const message = await anthropic.messages.create({ model, max_tokens: 9, messages: userMessages('x') })
  assert.equal(message.stop_reason, 'refusal')
  vendor.script({ status: 429, code: '7s' })
  await assert.rejects(openai.chat.completions.create({ model, messages: userMessages('x') }), (error) => {
    assert.ok(error instanceof APIError)
    assert.deepEqual([error.status, error.headers?.get('retry-after')], [429, '7'])
    return true
  })
  await world.bring(vendor, 'wrong', {
    shape: 'gemini',
    base_url: `${vendor.origin}/v1beta`,
    api_key: 'AIza-not-this-one',
    models: [pricedModel('gemini-2.0-flash')],
  })
  await assert.rejects(
    anthropic.messages.create({ model: 'wrong/gemini-2.0-flash', max_tokens: 9, messages: userMessages('x') }),
    (error) => error instanceof MessagesError && error.status === 502 && !/AIza-not/.test(error.message),
  )
  vendor.script({ reply: 'a b c d e f', midStreamError: { status: 503 } })
  const stream = anthropic.messages.stream({ model, max_tokens: 9, messages: userMessages('x') })
  await assert.rejects(
    stream.finalMessage(),
    (error) => error instanceof MessagesError && error.type === 'overloaded_error',
  )
})
