import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startGemini } from '../../../vendors/gemini/gemini.ts'
import { startOllama } from '../../../vendors/ollama/ollama.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import { serve } from '../../../vendors/server.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
const others: Vendor[] = []
const models = [
  're/gpt-4o',
  'oa/gpt-4o',
  'an/claude-haiku-4-5',
  'go/gemini-3.8-flash',
  'll/llama3.2',
  'kin/claude-like',
]

before(async () => {
  world = await gatewayWorld()
  openai = await startOpenAI()
  const [claude, gemini, ollama] = [await startAnthropic(), await startGemini(), await startOllama()]
  // Speaks Anthropic's shape, and counts no tokens.
  const kin = await serve({
    key: 'sk-kin',
    answer: () => ({ status: 404, body: { error: { message: 'not found' } } }),
    failure: () => ({ status: 404, body: {} }),
    headers: () => ({}),
  })
  others.push(claude, gemini, ollama, kin)
  const bring = (slug: string, vendor: Vendor, id: string, more: object) =>
    world.bring(vendor, slug, { models: [pricedModel(id)], ...more })
  await bring('re', openai, 'gpt-4o', { shape: 'openai-responses' })
  await bring('oa', openai, 'gpt-4o', {})
  await bring('an', claude, 'claude-haiku-4-5', { shape: 'anthropic-messages', base_url: claude.origin })
  await bring('go', gemini, 'gemini-3.8-flash', { shape: 'gemini', base_url: `${gemini.origin}/v1beta` })
  await bring('ll', ollama, 'llama3.2', { shape: 'ollama', base_url: ollama.origin })
  await bring('kin', kin, 'claude-like', { shape: 'anthropic-messages', base_url: kin.origin })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  for (const vendor of [openai, ...others]) await vendor[Symbol.asyncDispose]()
})

const messages = userMessages('hello')
/** Every route, by the client's own name for the limit. */
const ways: [path: string, field: string, body: object][] = [
  ['/compat-a/v1/chat/completions', 'max_tokens', { messages }],
  ['/compat-a/v1/chat/completions', 'max_completion_tokens', { messages }],
  ['/compat-a/v1/responses', 'max_output_tokens', { input: 'hello' }],
  ['/compat-b/v1/messages', 'max_tokens', { messages }],
  ['/compat-c/v1/chat/completions', 'max_tokens', { messages }],
  ['/inference/text', 'max_output_tokens', { messages }],
]

test('a limit below the minimum of OpenAI’s /responses is raised to it, reserved that way, and named', async () => {
  for (const [path, field, body] of ways)
    for (const limit of [1, 5, 15, 16, 40]) {
      const key = await world.person.key({ spend_cap_usd: 1, spend_cap_period: 'total' })
      const answer = await key.post(path, { model: 're/gpt-4o', ...body, [field]: limit })
      const context = `${path} ${field} ${limit}: ${answer.text}`
      assert.equal(answer.status, 200, context)
      const request = openai.requests.at(-1)!
      assert.equal(request.path, '/v1/responses')
      assert.equal(request.json().max_output_tokens, Math.max(16, limit), context)
      assert.equal(answer.headers.get('x-uk-losses'), limit < 16 ? field : null, context)
      // 2 USD per million: the reservation for 15 tokens doesn't cover 16.
      const poor = await world.person.key({ spend_cap_usd: 0.000031, spend_cap_period: 'total' })
      assert.equal((await poor.post(path, { model: 're/gpt-4o', ...body, [field]: limit })).status, 402, context)
    }
})

test('tokens are counted for every provider: by the vendor if it can, else by an estimate, and never 404', async () => {
  const count = { messages: userMessages('How many tokens are these, all in all?') }
  for (const model of models)
    for (const path of ['/compat-b/v1/messages/count_tokens', '/compat-c/v1/messages/count_tokens']) {
      const answer = await world.key.post(path, { model, ...count })
      assert.equal(answer.status, 200, `${model} ${path}: ${answer.text}`)
      assert.ok(answer.body.input_tokens > 3 && answer.body.input_tokens < 100, answer.text)
    }
  for (const model of models) {
    const ask = { model, input: 'How many tokens are these, all in all?' }
    const answer = await world.key.post('/compat-a/v1/responses/input_tokens', ask)
    assert.equal(answer.status, 200, `${model}: ${answer.text}`)
    assert.ok(answer.body.input_tokens > 3 && answer.body.input_tokens < 100, answer.text)
  }
})
