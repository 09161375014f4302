import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, priced, said } from '../world.ts'

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
  await world.bring(claude, 'an', { ...asAnthropic, models: [priced('claude-sonnet-5-5'), priced('claude-haiku-4-5')] })
  const reasons = { capabilities: ['tools', 'reasoning'], max_output_tokens: 30_000 }
  await world.bring(gpt, 'oa', { preset: 'openai', models: [priced('gpt-4o'), priced('o4-mini', reasons)] })
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

test('why an answer ended is told in the client’s words', async () => {
  for (const [finish, told] of [
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'stop'],
    ['a word of tomorrow', 'stop'],
  ] as const) {
    claude.script({ reply: 'so', finish, times: 2 })
    const ask = { model: haiku, messages: said('x') }
    const whole = await openai.chat.completions.create(ask)
    const streamed = await openai.chat.completions.stream(ask).finalChatCompletion()
    for (const { choices } of [whole, streamed]) assert.equal(choices[0]!.finish_reason, told, finish)
  }
  for (const [finish, told] of [
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['stop', 'end_turn'],
  ] as const) {
    gpt.script({ reply: 'so', finish, times: 2 })
    const ask = { model: 'oa/gpt-4o', max_tokens: 64, messages: said('x') }
    const whole = await anthropic.messages.create(ask)
    const streamed = await anthropic.messages.stream(ask).finalMessage()
    for (const { stop_reason: why, stop_details: details } of [whole, streamed])
      assert.deepEqual(
        [why, details],
        [told, told === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null],
      )
  }
})

test('a call that was cut is told to be cut, and a call is a call whatever word ends it', async () => {
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
  const ask = { model: 'oa/gpt-4o', max_tokens: 64, tools, messages: said('Weather?') }
  for (const [finish, told] of [
    ['length', 'max_tokens'],
    ['stop', 'tool_use'],
  ] as const) {
    gpt.script({ reply: twoCalls, finish, times: 2 })
    const whole = await anthropic.messages.create(ask)
    const streamed = await anthropic.messages.stream(ask).finalMessage()
    for (const { stop_reason: why, content } of [whole, streamed])
      assert.deepEqual([why, content.at(-1)?.type], [told, 'tool_use'])
  }
})

test('an answer that the client has begun is gone on with, though GPT would begin anew', async () => {
  const messages = [...said('A haiku?'), { role: 'assistant' as const, content: 'Old pond,' }]
  const asked = anthropic.messages.create({ model: 'oa/gpt-4o', max_tokens: 64, messages }).withResponse()
  assert.equal((await asked).response.headers.get('x-uk-losses'), 'messages.prefill')
  const told = sentTo(gpt)['messages']
  assert.deepEqual(told.slice(0, 2), messages)
  assert.match(told[2].content, /^Continue your last message/)
})

test('stop sequences that GPT takes none of, or so few, end the answer all the same, and by their name', async () => {
  const usage = { input: 12, output: 30, reasoning: 3 }
  const ask = { max_tokens: 64, messages: said('Count.'), stop_sequences: ['a1', 'b2', 'c3', 'd4', 'END', 'E'] }
  for (const [model, told, chunking] of [
    ['oa/o4-mini', undefined, undefined],
    ['oa/gpt-4o', ['a1', 'b2', 'c3', 'd4'], 11],
  ] as const) {
    gpt.script({ reply: 'one two EN three END four a1', usage, chunking, times: 2 })
    const whole = await anthropic.messages.create({ ...ask, model })
    assert.deepEqual(sentTo(gpt)['stop'], told)
    const streamed = await anthropic.messages.stream({ ...ask, stop_sequences: ['END'], model }).finalMessage()
    assert.deepEqual([whole.stop_reason, whole.stop_sequence], ['stop_sequence', 'E'])
    assert.deepEqual(textOf(whole), 'one two ')
    if (told === undefined) {
      assert.deepEqual([streamed.stop_sequence, textOf(streamed)], ['END', 'one two EN three '])
      assert.deepEqual([streamed.usage.input_tokens, streamed.usage.output_tokens], [12, 30], 'all of it is charged')
    }
  }
  const strict = await world.key.post('/compat-b/v1/messages', { ...ask, model: 'oa/o4-mini' }, { 'x-uk-strict': '1' })
  assert.equal(strict.status, 200, strict.text)
})

test('a client that leaves a translated stream leaves the provider too, and pays for what came', async () => {
  claude.script({ reply: 'one two three four five six seven eight', hang: 'mid-stream' })
  const leaving = new AbortController()
  const at = claude.requests.length
  const { data, response } = await openai.chat.completions
    .create({ model: haiku, messages: said('x'), stream: true }, { signal: leaving.signal })
    .withResponse()
  for await (const chunk of data) if (chunk.choices[0]?.delta.content) break
  leaving.abort()
  const request = await claude.arrival(at)
  await request.ended
  assert.equal(request.aborted, true)
  const call = await world.record(response.headers.get('x-request-id')!)
  assert.deepEqual([call.status, call.output_tokens > 0n], ['cancelled', true])
})
