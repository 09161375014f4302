import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import OpenAI from 'openai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Behaviour, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  const shape = 'anthropic-messages'
  await world.bring(openai, 'oa', { models: [pricedModel('gpt-4o')] })
  await world.bring(anthropic, 'an', { shape, base_url: anthropic.origin, models: [pricedModel('claude-sonnet-5-5')] })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

/** The vendors' own clients with their default retries, and the number of requests per call. */
const clients: Record<
  string,
  (apiKey: string, model: string, max: number, fetch: typeof globalThis.fetch) => Promise<unknown>
> = {
  'openai, chat': (apiKey, model, max_tokens, fetch) =>
    new OpenAI({ apiKey, fetch, baseURL: `${world.server.origin}/compat-a/v1` }).chat.completions.create({
      model,
      max_tokens,
      messages: userMessages('hi'),
    }),
  'openai, responses': (apiKey, model, max_output_tokens, fetch) =>
    new OpenAI({ apiKey, fetch, baseURL: `${world.server.origin}/compat-a/v1` }).responses.create({
      model,
      max_output_tokens,
      input: 'hi',
    }),
  'openai toward compat-c': (apiKey, model, max_tokens, fetch) =>
    new OpenAI({ apiKey, fetch, baseURL: `${world.server.origin}/compat-c/v1` }).chat.completions.create({
      model,
      max_tokens,
      messages: userMessages('hi'),
    }),
  'anthropic 1': (apiKey, model, max_tokens, fetch) =>
    new Anthropic({ apiKey, fetch, baseURL: `${world.server.origin}/compat-b` }).messages.create({
      model,
      max_tokens,
      messages: userMessages('hi'),
    }),
  'anthropic 0': (apiKey, model, max_tokens, fetch) =>
    new Anthropic0({ apiKey, fetch, baseURL: `${world.server.origin}/compat-b` }).messages.create({
      model,
      max_tokens,
      messages: userMessages('hi'),
    }),
}

/** Returns the number of requests before the client gives up, and the final status. */
async function tries(client: string, model: string, key = world.key.key, max = 16): Promise<[number, unknown]> {
  let requests = 0
  const counting: typeof fetch = (url, init) => {
    requests++
    return fetch(url, init)
  }
  try {
    await clients[client]!(key, model, max, counting)
  } catch (error) {
    return [requests, (error as { status?: number }).status]
  }
  return [requests, 200]
}

const models = ['oa/gpt-4o', 'an/claude-sonnet-5-5']
const refusals: Record<string, { refused: Behaviour; status: number }> = {
  'a key that the vendor does not take': { refused: { status: 401, message: 'bad key' }, status: 502 },
  'a key without the right': { refused: { status: 403, message: 'no permission for this project' }, status: 502 },
  'an account without money': { refused: { status: 402, message: 'payment required' }, status: 502 },
  'a limit that the vendor says no wait will lift': {
    refused: { status: 429, message: 'monthly limit', headers: { 'x-should-retry': 'false' } },
    status: 429,
  },
}

for (const client of Object.keys(clients)) {
  for (const [name, { refused: scriptedRefusal, status }] of Object.entries(refusals))
    test(`${client}: ${name} is tried once`, async () => {
      for (const model of models) {
        const vendor = model.startsWith('oa/') ? openai : anthropic
        const before = vendor.requests.length
        vendor.script(scriptedRefusal)
        assert.deepEqual(await tries(client, model), [1, status], model)
        assert.equal(vendor.requests.length, before + 1, 'the vendor is asked once too')
      }
    })

  test(`${client}: a key without money and a revoked key are tried once`, async () => {
    const poor = await world.person.key({ spend_cap_usd: 0.000001, spend_cap_period: 'total' })
    assert.deepEqual(await tries(client, models[0]!, poor.key), [1, 402])
    const revokedKey = await world.person.key()
    await world.person.delete(`/api-keys/${revokedKey.keyId}`)
    assert.deepEqual(await tries(client, models[0]!, revokedKey.key), [1, 401])
  })
}

test('a client that waits out a temporary fault gets its answer', async () => {
  openai.script({ garbage: 'not json' })
  assert.deepEqual(await tries('openai, chat', models[0]!), [2, 200])
})
