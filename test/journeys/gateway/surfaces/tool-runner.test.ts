import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'

let world: World
let claude: Vendor
let gpt: Vendor
let llama: Vendor
let client: Anthropic

before(async () => {
  claude = await startAnthropic()
  gpt = await startOpenAI()
  llama = await startOllama()
  world = await gatewayWorld()
  const can = { capabilities: ['tools'] }
  await world.bring(claude, 'an', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-sonnet-5-5', can)],
  })
  await world.bring(gpt, 'oa', { models: [pricedModel('gpt-4o', can)] })
  await world.bring(gpt, 'rs', { shape: 'openai-responses', models: [pricedModel('gpt-4o', can)] })
  await world.bring(llama, 'll', { shape: 'ollama', base_url: llama.origin, models: [pricedModel('llama3.2', can)] })
  client = new Anthropic({
    apiKey: world.key.key,
    baseURL: `${world.server.origin}/compat-b`,
    maxRetries: 0,
    logLevel: 'off',
  })
})
afterEach(() => {
  for (const vendor of [claude, gpt, llama]) vendor.unscript()
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [claude, gpt, llama]) await vendor[Symbol.asyncDispose]()
})

const question = 'What is the weather in Kyōto and Nara?'
const calls = (city: string) => [{ name: 'weather', arguments: { city } }]
const turns = [
  { reply: { text: 'I look at Kyōto.', tools: calls('Kyōto') } },
  { reply: { text: 'Now Nara.', tools: calls('Nara') } },
  { reply: 'Both are sunny.' },
]
/** The text that the model received at each turn, in the required order. */
const expectedTurns = [
  [question],
  [question, 'I look at Kyōto.', 'sunny in Kyōto'],
  [question, 'I look at Kyōto.', 'sunny in Kyōto', 'Now Nara.', 'sunny in Nara'],
]
const acceptedRequests = (vendor: Vendor) => vendor.requests.filter(({ seen }) => seen)

const weather = {
  type: 'custom' as const,
  name: 'weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
  parse: (input: unknown) => input as { city: string },
  run: async ({ city }: { city: string }) => `sunny in ${city}`,
}
const params = (model: string) => ({
  model,
  max_tokens: 500,
  system: 'Be brief.',
  messages: [{ role: 'user' as const, content: question }],
  tools: [weather],
  // A loop that lost its conversation must fail, not run forever.
  max_iterations: 6,
})

function assertWholeConversations(vendor: Vendor, from: number): void {
  const steps = acceptedRequests(vendor).slice(from)
  assert.equal(steps.length, expectedTurns.length, 'each turn is asked once')
  for (const [n, words] of expectedTurns.entries()) {
    const text = JSON.stringify(steps[n]!.seen!.messages)
    const places = words.map((one) => text.indexOf(one))
    assert.ok(!places.includes(-1), `turn ${n + 1} was told ${words.join(' | ')}: ${text}`)
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
  }
}

const providers = [
  ['an/claude-sonnet-5-5', () => claude],
  ['oa/gpt-4o', () => gpt],
  ['rs/gpt-4o', () => gpt],
  ['ll/llama3.2', () => llama],
] as const

for (const stream of [false, true])
  for (const [model, vendorOf] of providers)
    test(`a tool runner over ${model}${stream ? ', streamed,' : ''} ends after three turns, each with the whole conversation`, async () => {
      const vendor = vendorOf()
      const from = acceptedRequests(vendor).length
      vendor.script(...turns)
      const runner = client.beta.messages.toolRunner({ ...params(model), stream })
      const last = await runner
      assert.deepEqual(
        last.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])),
        ['Both are sunny.'],
      )
      assert.equal(vendor.pending(), 0)
      assertWholeConversations(vendor, from)
    })

for (const [model, vendorOf] of providers)
  test(`a conversation sent turn by turn is complete for ${model}, also without its thread`, async () => {
    const vendor = vendorOf()
    const thread = client.beta.messages.thread({ model, max_tokens: 100, system: 'Be brief.' })
    await thread.send({ role: 'user', content: 'My name is Ada.' })
    await thread.send({ role: 'user', content: 'What is my name?' })
    assert.match(JSON.stringify(acceptedRequests(vendor).at(-1)!.seen!.messages), /My name is Ada.*What is my name/)
    const plain = client.beta.messages.toolRunner({ ...params(model), thread: false })
    vendor.script({ reply: 'Sunny.' })
    await plain
    assert.match(JSON.stringify(acceptedRequests(vendor).at(-1)!.seen!.messages), /What is the weather/)
  })

test('a thread that the vendor lost is restarted with everything, transparently', async () => {
  const from = acceptedRequests(claude).length
  claude.script(turns[0]!, { ...turns[1]!, forgets: true }, { ...turns[1]! }, turns[2]!)
  const runner = client.beta.messages.toolRunner(params('an/claude-sonnet-5-5'))
  const texts: string[] = []
  for await (const message of runner)
    texts.push(...message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])))
  assert.equal(texts.at(-1), 'Both are sunny.')
  assert.match(
    JSON.stringify(acceptedRequests(claude).at(-1)!.seen!.messages),
    /What is the weather.*sunny in Kyōto.*sunny in Nara/,
  )
  assert.ok(acceptedRequests(claude).length - from >= 3)
})

test('users can’t continue another user’s conversation, in any account', async () => {
  const stranger = await world.server.person('Eve')
  await world.bring(claude, 'all', {
    instance: true,
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-sonnet-5-5')],
  })
  for (const { id } of [world.person, stranger])
    await world.person.post(`/admin/accounts/${id}/credits`, { amount_usd: 1, note: 'test' })
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'message-threads-2026-08-12' }
  const body = { model: 'all/claude-sonnet-5-5', max_tokens: 64 }
  const say = (content: string) => ({ messages: [{ role: 'user', content }] })
  const first = await world.key.post(
    '/compat-b/v1/messages',
    { ...body, ...say('Ada’s secret'), thread: { type: 'create' } },
    headers,
  )
  assert.equal(first.status, 200, first.text)
  const eve = await stranger.key()
  const stolen = { type: 'continue', previous_message_id: first.body.id as string }
  const answer = await eve.post('/compat-b/v1/messages', { ...body, ...say('Repeat it.'), thread: stolen }, headers)
  assert.equal(answer.status, 404, answer.text)
  assert.deepEqual((answer.body as Json)['error'].details, { error_code: 'thread_not_found' })
  assert.doesNotMatch(answer.text, /secret/)
  assert.ok(!acceptedRequests(claude).some(({ seen }) => /secret.*Repeat it/.test(JSON.stringify(seen!.messages))))
})
