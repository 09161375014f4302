import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type World, gatewayWorld, userMessages } from '#test/journeys/gateway/world.ts'
import { type Person, type TestServer, caller } from '#test/server.ts'
import { becomes } from '#test/until.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

/** The next response of the catalogue server. */
let answer: { status: number; body: string | Buffer; headers?: Record<string, string> }
let publisher: Server
let openai: Vendor
let world: World
let twin: TestServer
let bob: Person

// In the models.dev format, with distinctive prices.
const catalogueOf = (input: number, output: number, more: object = {}) =>
  JSON.stringify({
    openai: {
      models: {
        'gpt-4o': entry('gpt-4o', { input, output, cache_read: 0.5, ...more }),
        'gpt-of-tomorrow': entry('gpt-of-tomorrow', { input: 7, output: 8 }, { release_date: '2026-11-20' }),
        broken: { id: 'broken', name: '', cost: { input: -1 } },
      },
    },
    anthropic: {
      models: { 'claude-haiku-4-5': entry('claude-haiku-4-5', { input: 3, output: 9, cache_read: 1, cache_write: 4 }) },
    },
    somebody: { models: { else: entry('else', { input: 1, output: 1 }) } },
  })
const entry = (id: string, cost: object, more: object = {}) => ({
  id,
  name: id,
  reasoning: false,
  tool_call: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
  limit: { context: 111_000, output: 2_000 },
  cost,
  ...more,
})

before(async () => {
  publisher = createServer((_, response) => void response.writeHead(answer.status, answer.headers).end(answer.body))
  publisher.listen(0, '127.0.0.1')
  await once(publisher, 'listening')
  openai = await startOpenAI()
  const url = `http://127.0.0.1:${(publisher.address() as AddressInfo).port}/api.json`
  world = await gatewayWorld({ UK_CATALOGUE_URL: url, UK_FETCH_ALLOW: '127.0.0.0/8' })
  twin = await world.server.twin()
  bob = await world.server.person('Bob')
  // The catalogue's OpenAI, at another address.
  await world.bring(openai, 'oa', { preset: 'openai' })
})
after(async () => {
  publisher.closeAllConnections()
  publisher.close()
  await twin[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
})

const refresh = (body: object = {}) => world.person.post('/admin/catalogues', body)
const model = async (slug: string, by = world.key as { get: Person['get'] }) =>
  (await by.get(`/models/${slug}`)).body.data
const ask = async () => {
  openai.script({ reply: 'x', usage: { input: 1_000, output: 100 } })
  const { headers } = await world.key.post('/compat-a/v1/chat/completions', {
    model: 'oa/gpt-4o',
    messages: userMessages('x'),
  })
  return headers.get('x-request-id')!
}
const costOf = async (id: string) => (await world.record(id)).cost_nano

test('fetched prices apply at once in every process, and never to booked calls', async () => {
  const shippedModel = await model('oa/gpt-4o')
  const bookedCall = await ask()
  const before = await costOf(bookedCall)
  answer = { status: 200, body: catalogueOf(100, 200) }
  assert.equal((await bob.post('/admin/catalogues', {})).body.error.code, 'insufficient_role')
  assert.equal((await world.key.post('/admin/catalogues', {})).body.error.code, 'cookie_session_required')

  const dry = await refresh({ dry_run: true })
  assert.deepEqual([dry.status, dry.body.data.serving, dry.body.data.changes.skipped], [200, false, 1])
  assert.deepEqual(await model('oa/gpt-4o'), shippedModel)

  const refreshResponse = await refresh()
  assert.equal(refreshResponse.status, 201, refreshResponse.text)
  assert.deepEqual([refreshResponse.body.data.models_count, refreshResponse.body.data.serving], [3, true])
  assert.deepEqual(refreshResponse.body.data.changes.largest[0].now, { input: 100, output: 200 })
  assert.equal((await refresh()).status, 200, 'nothing is new')

  const now = await model('oa/gpt-4o')
  assert.deepEqual([now.pricing.input, now.pricing.output, now.context_length], [100, 200, 111_000])
  assert.match(now.price_source, /^models\.dev@[0-9a-f]{12}$/)
  assert.equal(now.price_date, new Date().toISOString().slice(0, 10))
  const elsewhere = caller(twin.origin, world.key.headers)
  await becomes(async () => (await model('oa/gpt-4o', elsewhere)).pricing.input, 100)

  const tomorrow = await model('openai/gpt-of-tomorrow')
  assert.deepEqual([tomorrow.status, tomorrow.created_at], ['no_provider', '2026-11-20T00:00:00.000Z'])
  assert.equal((await model('somebody/else')) ?? null, null, 'a provider that nobody knows here is left out')
  // Cache writes for one hour still cost twice the input price.
  assert.equal((await model('anthropic/claude-haiku-4-5')).pricing.cache_write_1h, 6)
  assert.ok((await model('openai/gpt-5')).pricing.input > 0, 'what it does not know goes on being served')

  assert.equal(await costOf(bookedCall), before)
  assert.equal(await costOf(await ask()), 1_000n * 100_000n + 100n * 200_000n)
})

test('an invalid catalogue response changes nothing: garbage, error page, half a list, a gigabyte, private address', async () => {
  const before = await model('oa/gpt-4o')
  const invalidResponses: [string, typeof answer][] = [
    ['no JSON', { status: 200, body: '<html>' }],
    ['no models', { status: 200, body: '{}' }],
    ['an error', { status: 500, body: '{}' }],
    ['half of it', { status: 200, body: JSON.stringify({ openai: { models: { 'gpt-4o': entry('gpt-4o', {}) } } }) }],
    ['its prices gone', { status: 200, body: catalogueOf(1, 1).replaceAll('"cost"', '"costs"') }],
    ['a snapshot that lies', { status: 200, body: '{"sources":[],"models":[{"slug":"a/b"}]}' }],
    ['too much', { status: 200, body: Buffer.alloc(33 << 20, ' ') }],
    ['a private address', { status: 302, body: '', headers: { location: 'http://10.0.0.1/api.json' } }],
    ['a loop', { status: 302, body: '', headers: { location: '/again' } }],
  ]
  for (const [name, invalidResponse] of invalidResponses) {
    answer = invalidResponse
    const { status, body } = await refresh()
    assert.deepEqual([status, body.error.code], [502, 'provider_error'], name)
  }
  assert.deepEqual(await model('oa/gpt-4o'), before)
  assert.equal((await world.person.get('/admin/catalogues')).body.data.length, 1)
})

test('an operator’s override has priority over every source until it is removed', async () => {
  const set = (body: object, by = world.person as { request: Person['request'] }) =>
    by.request('PUT', '/admin/model-overrides', body)
  assert.equal((await set({ slug: 'openai/gpt-4o', context_length: 5 }, bob)).status, 403)
  assert.equal((await set({ slug: 'sim/echo', context_length: 5 })).body.error.param, 'slug')
  assert.equal((await set({ slug: 'openai/gpt-4o' })).body.error.param, 'pricing')
  const overrideResponse = await set({
    slug: 'openai/gpt-4o',
    pricing: { input: 1.000000001, output: 3 },
    note: 'our contract',
  })
  assert.deepEqual(
    [overrideResponse.status, overrideResponse.body.data.pricing],
    [200, { input: 1.000000001, output: 3 }],
  )
  await set({ slug: 'openai/made-here', pricing: { input: 2, output: 2 }, max_output_tokens: 77 })

  const now = await model('oa/gpt-4o')
  assert.deepEqual([now.pricing.input, now.price_source, now.context_length], [1.000000001, 'operator', 111_000])
  // 1,000 × 1,000.000001 + 100 × 3,000
  assert.equal(await costOf(await ask()), 1_300_000n)
  assert.equal((await model('oa/made-here')).max_output_tokens, 77)
  const searchResponse = await world.key.get('/models/search?q=made-here&max_input_price=2')
  assert.deepEqual([searchResponse.body.total_count, searchResponse.body.applied_filters], [1, { max_input_price: 2 }])

  assert.equal((await world.person.get('/admin/model-overrides')).body.data.length, 2)
  for (const slug of ['openai/gpt-4o', 'openai/made-here'])
    assert.equal((await world.person.delete(`/admin/model-overrides?slug=${slug}`)).status, 200)
  assert.equal((await world.person.delete('/admin/model-overrides?slug=openai/gpt-4o')).status, 404)
  assert.deepEqual((await model('oa/gpt-4o')).pricing.input, 100)
})

test('a catalogue that lost its prices needs `force`; deleting catalogues restores the previous one, finally the shipped one', async () => {
  answer = {
    status: 200,
    body: JSON.stringify({ openai: { models: { 'gpt-4o': entry('gpt-4o', { input: 5, output: 5 }) } } }),
  }
  assert.match((await refresh()).body.error.message, /force/)
  const forcedRefresh = await refresh({ force: true })
  assert.equal(forcedRefresh.status, 201)
  assert.equal((await model('oa/gpt-4o')).pricing.input, 5)
  await world.person.delete(`/admin/catalogues/${forcedRefresh.body.data.id}`)
  assert.equal((await model('oa/gpt-4o')).pricing.input, 100)
  const [first] = (await world.person.get('/admin/catalogues')).body.data
  assert.equal(first.serving, true)
  await world.person.delete(`/admin/catalogues/${first.id}`)
  assert.match((await model('oa/gpt-4o')).price_source, /pi-ai/)
})
