import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic, { APIError as MessagesError } from '@anthropic-ai/sdk'
import OpenAI, { APIError } from 'openai'
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
const sentTo = (vendor: Vendor) => vendor.requests.findLast(({ method }) => method === 'POST')!.json()

test('another vendor’s errors arrive in the client’s own shape, before the stream and in it', async () => {
  claude.script({ status: 529, type: 'overloaded_error', message: 'Overloaded', times: 3 })
  await assert.rejects(openai.chat.completions.create({ model: haiku, messages: userMessages('x') }), (error) => {
    assert.ok(error instanceof APIError)
    assert.deepEqual([error.status, error.code], [503, 'overloaded'])
    return true
  })
  claude.script({ reply: 'a b c d e f', midStreamError: { type: 'overloaded_error', message: 'Overloaded' } })
  const events: string[] = []
  await assert.rejects(async () => {
    const stream = await openai.chat.completions.create({ model: haiku, messages: userMessages('x'), stream: true })
    for await (const chunk of stream) events.push(chunk.choices[0]?.delta.content ?? '')
  }, /Overloaded/)
  assert.match(events.join(''), /^a b/)
  gpt.script({ status: 400, code: 'context_length_exceeded', message: 'maximum context length is 9 tokens' })
  await assert.rejects(
    anthropic.messages.create({ model: 'oa/gpt-4o', max_tokens: 5, messages: userMessages('x') }),
    (error) => error instanceof MessagesError && error.status === 400 && /prompt is too long/.test(error.message),
  )
  gpt.script({ reply: 'a b c d', garbage: 'truncated' })
  const stream = anthropic.messages.stream({ model: 'oa/gpt-4o', max_tokens: 50, messages: userMessages('x') })
  await assert.rejects(stream.finalMessage(), (error) => error instanceof MessagesError)
})

test('before the first byte a provider of another shape takes over', async () => {
  await world.bring(claude, 'first', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('both')],
    priority: 0,
  })
  await world.bring(gpt, 'second', { models: [pricedModel('both')], priority: 5 })
  claude.script({ status: 500 })
  gpt.script({ reply: 'here' })
  const stream = anthropic.messages.stream({ model: 'both', max_tokens: 20, messages: userMessages('x') })
  assert.equal(await stream.finalText(), 'here')
  assert.match(stream.response!.headers.get('x-uk-route')!, /^provider=second/)
  const { status } = await world.record(stream.request_id!)
  assert.equal(status, 'failed', 'each try is an entry of its own')
})

test('under a cap a translated call is reserved, limited, and settled like a passing one', async () => {
  const key = await world.person.key({ spend_cap_usd: 0.01 })
  const body = { model: haiku, messages: userMessages('hi') }
  claude.script({ reply: 'ok', usage: { input: 10, output: 5 } })
  const answer = await key.post('/compat-a/v1/chat/completions', body)
  assert.equal(answer.status, 200, answer.text)
  const limit = sentTo(claude)['max_tokens']
  assert.ok(limit >= 1024 && limit <= 5000, `${limit} is what 0.01 USD pays for at 2 USD per million`)
  const refusal = await key.post('/compat-a/v1/chat/completions', { ...body, max_tokens: 100_000_000 })
  assert.equal(refusal.status, 402)
  const call = await world.record(answer.headers.get('x-request-id')!)
  assert.equal(call.cost_nano, 20_000n)
})

test('tokens that only another vendor could count are estimated, and a warm-up without output calls no provider', async () => {
  const before = gpt.requests.length
  const { input_tokens: estimate } = await anthropic.messages.countTokens({
    model: 'oa/gpt-4o',
    messages: userMessages('one two'),
  })
  assert.ok(estimate > 0 && estimate < 20)
  const warm = await anthropic.messages.create({ model: 'oa/gpt-4o', max_tokens: 0, messages: userMessages('x') })
  assert.deepEqual([warm.content, warm.stop_reason], [[], 'end_turn'])
  assert.equal(gpt.requests.length, before)
})
