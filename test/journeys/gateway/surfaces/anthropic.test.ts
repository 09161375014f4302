import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let vendor: Vendor
let client: Anthropic
let older: Anthropic0

before(async () => {
  vendor = await startAnthropic()
  world = await gatewayWorld()
  const models = [pricedModel('claude-sonnet-5-5')]
  await world.bring(vendor, 'an', { shape: 'anthropic-messages', base_url: vendor.origin, models })
  const options = { apiKey: world.key.key, maxRetries: 0 }
  client = new Anthropic({ ...options, baseURL: `${world.server.origin}/compat-b` })
  older = new Anthropic0({ ...options, baseURL: `${world.server.origin}/anthropic` })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const model = 'an/claude-sonnet-5-5'
const ask = (content: string) => ({ model, max_tokens: 64, messages: userMessages(content) })
const lastRequest = () => vendor.requests.findLast(({ method }) => method === 'POST')!

test('both generations of the SDK work, each in its API version, with the provider’s key', async () => {
  for (const [one, version] of [
    [client, '2026-10-21'],
    // The types differ only where this test doesn't use them.
    [older as unknown as Anthropic, '2023-06-01'],
  ] as const) {
    vendor.script({ reply: 'Salut', usage: { input: 50, cached: 20, cacheWrite: 10, output: 7 } })
    const { data, response } = await one.messages
      .create(ask('hi'), { headers: { 'anthropic-beta': 'a-beta,b-beta' } })
      .withResponse()
    assert.deepEqual(
      data.content.map((block) => block.type === 'text' && block.text),
      ['Salut'],
    )
    const { headers } = lastRequest()
    assert.deepEqual(
      [headers['x-api-key'], headers['anthropic-version'], headers['anthropic-beta']],
      [vendor.key, version, 'a-beta,b-beta'],
    )
    assert.ok(!JSON.stringify(headers).includes(world.key.key))
    const call = await world.record(response.headers.get('request-id')!)
    assert.deepEqual(
      [call.surface, call.input_tokens, call.cache_read_tokens, call.cache_write_5m_tokens, call.output_tokens],
      ['compat-b', 20n, 20n, 10n, 7n],
    )
  }
})

test('a stream is metered from its two ends', async () => {
  vendor.script({
    reply: { reasoning: 'let me see', text: 'four score and seven' },
    usage: { input: 30, cached: 12, output: 9 },
  })
  const stream = client.messages.stream(ask('speech'))
  assert.equal(await stream.finalText(), 'four score and seven')
  const call = await world.record(stream.request_id!)
  assert.deepEqual(
    [
      call.streamed,
      call.input_tokens,
      call.cache_read_tokens,
      call.output_tokens + call.reasoning_tokens,
      call.finish_reason,
    ],
    [true, 18n, 12n, 9n, 'end_turn'],
  )
})

test('tools return whole, and `?beta=true` and unknown fields are forwarded', async () => {
  vendor.script({
    reply: {
      text: 'I look.',
      tools: [
        { name: 'get', arguments: { q: 'x' } },
        { name: 'get', arguments: {} },
      ],
    },
  })
  const tools = [{ name: 'get', input_schema: { type: 'object' as const } }]
  const message = await client.beta.messages
    .stream({ ...ask('use it'), tools, betas: ['context-management-2025-06-27'] })
    .finalMessage()
  assert.deepEqual(
    message.content.map((block) => (block.type === 'tool_use' ? block.input : block.type)),
    ['text', { q: 'x' }, {}],
  )
  const answer = await world.key.post(
    '/compat-b/v1/messages?beta=true',
    { ...ask('hi'), context_management: { edits: [] } },
    { 'anthropic-beta': 'x', 'anthropic-workspace-id': 'wrkspc_1', 'anthropic-user-profile-id': 'up_1' },
  )
  assert.equal(answer.status, 200, answer.text)
  const { 'anthropic-workspace-id': workspace, 'anthropic-user-profile-id': profile } = lastRequest().headers
  assert.deepEqual([workspace, profile], ['wrkspc_1', 'up_1'], 'the account is the caller’s own')
  assert.equal(lastRequest().query.get('beta'), 'true')
  assert.deepEqual(lastRequest().json().context_management, { edits: [] })
  assert.equal(lastRequest().headers['anthropic-version'], '2023-06-01', 'the version that is meant when none is said')
})

test('an unknown version is refused for every provider; the answering account is shown to its owner only', async () => {
  const before = vendor.requests.length
  const unknown = await world.key.post('/compat-b/v1/messages', ask('x'), { 'anthropic-version': '2024-01-01' })
  assert.equal(vendor.requests.length, before)
  assert.deepEqual([unknown.status, unknown.body.error.type], [400, 'invalid_request_error'])
  assert.match(unknown.body.error.message, /^anthropic-version: "2024-01-01"/)
  const { headers } = await world.key.post('/compat-b/v1/messages', ask('x'))
  for (const name of ['anthropic-organization-id', 'anthropic-ratelimit-requests-remaining', 'request-id'])
    assert.ok(headers.get(name), name)
})

test('a vendor error keeps its type, and one mid-stream reaches the client as an event', async () => {
  vendor.script({ status: 529, type: 'overloaded_error', message: 'Overloaded', times: 3 })
  await assert.rejects(client.messages.create(ask('x')), (error) => {
    assert.ok(error instanceof APIError)
    assert.deepEqual([error.status, error.type], [529, 'overloaded_error'])
    return true
  })
  vendor.script({ reply: 'a b c d e f', midStreamError: { type: 'overloaded_error', message: 'Overloaded' } })
  const stream = client.messages.stream(ask('x'))
  await assert.rejects(stream.finalMessage(), (error) => error instanceof APIError && error.type === 'overloaded_error')
  const call = await world.record(stream.request_id!)
  assert.deepEqual([call.status, call.input_tokens > 0n], ['failed', true])
})

test('tokens are counted by the vendor, by words for the simulated models, and for free', async () => {
  const { input_tokens: countedTokens } = await client.messages.countTokens({
    model,
    messages: userMessages('one two'),
  })
  assert.ok(countedTokens > 0)
  assert.equal(lastRequest().path, '/v1/messages/count_tokens')
  assert.equal(
    (await client.messages.countTokens({ model: 'sim/echo', messages: userMessages('one two three') })).input_tokens,
    3,
  )
})

test('the simulated models answer in Messages, and models are listed in pages', async () => {
  const stream = client.messages.stream({ ...ask('a b c'), model: 'sim/echo' })
  const message = await stream.finalMessage()
  assert.deepEqual(
    [message.content.map((block) => block.type === 'text' && block.text), message.usage.output_tokens],
    [['a b c'], 3],
  )
  const ids: string[] = []
  const deprecatedModels = await world.key.get('/compat-b/v1/models?lifecycle[]=deprecated')
  assert.deepEqual(deprecatedModels.body, { data: [], has_more: false, first_id: null, last_id: null })
  for await (const { id } of client.models.list({ limit: 1 })) ids.push(id)
  assert.ok(ids.includes(model) && ids.includes('sim/echo') && new Set(ids).size === ids.length, ids.join())
  assert.equal((await client.models.retrieve(model)).id, model)
})
