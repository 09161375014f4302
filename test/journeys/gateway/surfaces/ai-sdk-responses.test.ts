import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel } from '../world.ts'

let world: World
let claude: Vendor
let llama: Vendor
let gpt: Vendor
let openai: ReturnType<typeof createOpenAI>

before(async () => {
  claude = await startAnthropic()
  llama = await startOllama()
  gpt = await startOpenAI()
  world = await gatewayWorld()
  const can = { capabilities: ['tools', 'reasoning'] }
  await world.bring(claude, 'an', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-sonnet-5-5', can)],
  })
  await world.bring(llama, 'll', { shape: 'ollama', base_url: llama.origin, models: [pricedModel('qwen3:4b', can)] })
  await world.bring(gpt, 'oa', { models: [pricedModel('gpt-4o', can)] })
  await world.bring(gpt, 'rs', { shape: 'openai-responses', models: [pricedModel('gpt-4o', can)] })
  openai = createOpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1` })
})
afterEach(() => {
  for (const vendor of [claude, llama, gpt]) vendor.unscript()
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [claude, llama, gpt]) await vendor[Symbol.asyncDispose]()
})

const weather = tool({
  inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
  execute: async ({ city }) => `sunny in ${city}`,
})
const question = 'What is the weather in Kyōto and Nara?'
const calls = (city: string) => [{ name: 'weather', arguments: { city } }]
const acceptedRequests = (vendor: Vendor) => vendor.requests.filter(({ seen }) => seen)
/** The text that the model received, in the required order. */
const expectedTexts = [
  [question],
  [question, 'I look at Kyōto.', 'sunny in Kyōto'],
  [question, 'I look at Kyōto.', 'sunny in Kyōto', 'Now Nara.', 'sunny in Nara'],
]

function assertWholeConversations(vendor: Vendor, from: number): void {
  const steps = acceptedRequests(vendor).slice(from)
  assert.equal(steps.length, expectedTexts.length)
  for (const [n, words] of expectedTexts.entries()) {
    const text = JSON.stringify(steps[n]!.seen!.messages)
    const places = words.map((one) => text.indexOf(one))
    assert.ok(!places.includes(-1), `step ${n + 1} was told ${words.join(' | ')}: ${text}`)
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
  }
}

for (const isStream of [false, true])
  for (const [model, vendorOf] of [
    ['an/claude-sonnet-5-5', () => claude],
    ['ll/qwen3:4b', () => llama],
    ['oa/gpt-4o', () => gpt],
    ['rs/gpt-4o', () => gpt],
  ] as const)
    test(`AI SDK 7 refers to its earlier items, ${isStream ? 'streamed' : 'whole'}, and ${model} sees the whole conversation at each step`, async () => {
      const vendor = vendorOf()
      const from = acceptedRequests(vendor).length
      vendor.script(
        { reply: { text: 'I look at Kyōto.', tools: calls('Kyōto') } },
        { reply: { text: 'Now Nara.', tools: calls('Nara') } },
        { reply: 'Both are sunny.' },
      )
      const params = {
        model: openai(model),
        system: 'Be brief.',
        prompt: question,
        tools: { weather },
        stopWhen: stepCountIs(5),
        maxRetries: 0,
      }
      const result = isStream ? streamText(params) : await generateText(params)
      if ('fullStream' in result)
        for await (const part of result.fullStream)
          assert.notEqual(part.type, 'error', JSON.stringify((part as Json)['error']))
      assert.equal(await result.text, 'Both are sunny.')
      assert.equal((await result.steps).length, 3)
      assert.equal(vendor.pending(), 0)
      assertWholeConversations(vendor, from)
    })

test('Claude’s reasoning that AI SDK 7 refers to by ID returns with its signature', async () => {
  const from = acceptedRequests(claude).length
  claude.script(
    { reply: { reasoning: 'Look outside first.', signature: 'c2lnbmVk', tools: calls('Kyōto') } },
    { reply: 'Sunny.' },
  )
  const { text } = await generateText({
    model: openai('an/claude-sonnet-5-5'),
    prompt: question,
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  })
  assert.equal(text, 'Sunny.')
  const [, second] = acceptedRequests(claude).slice(from)
  const thinkingBlock = { type: 'thinking', thinking: 'Look outside first.', signature: 'c2lnbmVk' }
  assert.deepEqual((second!.seen!.messages[1]!['content'] as Json[])[0], thinkingBlock)
})

test('with `store: false` there are no references, and the whole conversation is sent', async () => {
  const from = acceptedRequests(claude).length
  claude.script({ reply: { text: 'I look at Kyōto.', tools: calls('Kyōto') } }, { reply: 'Sunny.' })
  const { text } = await generateText({
    model: openai('an/claude-sonnet-5-5'),
    prompt: question,
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
    providerOptions: { openai: { store: false } },
  })
  assert.equal(text, 'Sunny.')
  assert.match(JSON.stringify(acceptedRequests(claude)[from + 1]!.seen!.messages), /I look at Kyōto\..*sunny in Kyōto/)
})

test('another account’s item isn’t found, and the answer says what to do', async () => {
  claude.script({ reply: 'A secret of Ada’s.' })
  const mine = await world.key.post('/compat-a/v1/responses', { model: 'an/claude-sonnet-5-5', input: 'Hi' })
  const id = mine.body.output[0].id as string
  const eve = await world.server.person('Eve')
  const key = await eve.key()
  await eve.post('/ai-gateway/provider-endpoints', {
    name: 'an',
    slug: 'an',
    shape: 'anthropic-messages',
    base_url: claude.origin,
    api_key: claude.key,
    models: [pricedModel('claude-sonnet-5-5')],
  })
  const input = [
    { type: 'item_reference', id },
    { role: 'user', content: 'and?' },
  ]
  const before = claude.requests.length
  const answer = await key.post('/compat-a/v1/responses', { model: 'an/claude-sonnet-5-5', input })
  assert.equal(answer.status, 404, answer.text)
  assert.match(answer.text, /store/)
  assert.doesNotMatch(answer.text, /secret/)
  assert.equal(claude.requests.length, before)
  const own = await world.key.post('/compat-a/v1/responses', { model: 'an/claude-sonnet-5-5', input })
  assert.equal(own.status, 200, own.text)
  assert.match(JSON.stringify(acceptedRequests(claude).at(-1)!.seen!.messages), /A secret of Ada/)
})
