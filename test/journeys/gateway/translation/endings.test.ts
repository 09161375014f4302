import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let claude: Vendor
let gpt: Vendor
let openai: OpenAI
let anthropic: Anthropic

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
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await claude[Symbol.asyncDispose]()
  await gpt[Symbol.asyncDispose]()
})

const haiku = 'an/claude-haiku-4-5'
const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

const sentTo = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!.json()

const twoCalls = {
  text: 'I look.',
  tools: [
    { name: 'weather', arguments: { city: 'Kyōto' } },
    { name: 'weather', arguments: { city: 'Oslo' } },
  ],
}

test('the finish reason arrives in the client’s format', async () => {
  for (const [finish, expected] of [
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'stop'],
    ['a word of tomorrow', 'stop'],
  ] as const) {
    claude.script({ reply: 'so', finish, times: 2 })
    const ask = { model: haiku, messages: userMessages('x') }
    const whole = await openai.chat.completions.create(ask)
    const completion = await openai.chat.completions.stream(ask).finalChatCompletion()
    for (const { choices } of [whole, completion]) assert.equal(choices[0]!.finish_reason, expected, finish)
  }
  for (const [finish, expected] of [
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['stop', 'end_turn'],
  ] as const) {
    gpt.script({ reply: 'so', finish, times: 2 })
    const ask = { model: 'oa/gpt-4o', max_tokens: 64, messages: userMessages('x') }
    const whole = await anthropic.messages.create(ask)
    const message = await anthropic.messages.stream(ask).finalMessage()
    for (const { stop_reason: why, stop_details: details } of [whole, message])
      assert.deepEqual(
        [why, details],
        [expected, expected === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null],
      )
  }
})

test('a truncated call is reported as truncated, and a call counts as a call for any finish reason', async () => {
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
  const ask = { model: 'oa/gpt-4o', max_tokens: 64, tools, messages: userMessages('Weather?') }
  for (const [finish, expected] of [
    ['length', 'max_tokens'],
    ['stop', 'tool_use'],
  ] as const) {
    gpt.script({ reply: twoCalls, finish, times: 2 })
    const whole = await anthropic.messages.create(ask)
    const message = await anthropic.messages.stream(ask).finalMessage()
    for (const { stop_reason: why, content } of [whole, message])
      assert.deepEqual([why, content.at(-1)?.type], [expected, 'tool_use'])
  }
})

test('a prefilled answer is continued, although GPT would start over', async () => {
  const messages = [...userMessages('A haiku?'), { role: 'assistant' as const, content: 'Old pond,' }]
  const request = anthropic.messages.create({ model: 'oa/gpt-4o', max_tokens: 64, messages }).withResponse()
  assert.equal((await request).response.headers.get('x-uk-losses'), 'messages.prefill')
  const sentMessages = sentTo(gpt)['messages']
  assert.deepEqual(sentMessages.slice(0, 2), messages)
  assert.match(sentMessages[2].content, /^Continue your last message/)
})

test('stop sequences that GPT doesn’t support still end the answer, and are named', async () => {
  const usage = { input: 12, output: 30, reasoning: 3 }
  const ask = { max_tokens: 64, messages: userMessages('Count.'), stop_sequences: ['a1', 'b2', 'c3', 'd4', 'END', 'E'] }
  for (const [model, stopSequence, chunking] of [
    ['oa/o4-mini', undefined, undefined],
    ['oa/gpt-4o', ['a1', 'b2', 'c3', 'd4'], 11],
  ] as const) {
    gpt.script({ reply: 'one two EN three END four a1', usage, chunking, times: 2 })
    const whole = await anthropic.messages.create({ ...ask, model })
    assert.deepEqual(sentTo(gpt)['stop'], stopSequence)
    const message = await anthropic.messages.stream({ ...ask, stop_sequences: ['END'], model }).finalMessage()
    assert.deepEqual([whole.stop_reason, whole.stop_sequence], ['stop_sequence', 'E'])
    assert.deepEqual(textOf(whole), 'one two ')
    if (stopSequence === undefined) {
      assert.deepEqual([message.stop_sequence, textOf(message)], ['END', 'one two EN three '])
      assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [12, 30], 'all of it is charged')
    }
  }
  const strict = await world.key.post('/compat-b/v1/messages', { ...ask, model: 'oa/o4-mini' }, { 'x-uk-strict': '1' })
  assert.equal(strict.status, 200, strict.text)
})

test('disconnecting from a translated stream disconnects the provider too, and bills the output so far', async () => {
  claude.script({ reply: 'one two three four five six seven eight', hang: 'mid-stream' })
  const leaving = new AbortController()
  const at = claude.requests.length
  const { data, response } = await openai.chat.completions
    .create({ model: haiku, messages: userMessages('x'), stream: true }, { signal: leaving.signal })
    .withResponse()
  for await (const chunk of data) if (chunk.choices[0]?.delta.content) break
  leaving.abort()
  const request = await claude.arrival(at)
  await request.ended
  assert.equal(request.aborted, true)
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual([call.status, call.output_tokens > 0n], ['cancelled', true])
})
