import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let server: Server
/** The slugs of the called endpoints, by their keys. */
let calledSlugs: string[] = []

/** The failing vendors, with their status. */
const failing = new Map<string, number>()

const slugs = ['north', 'east', 'south', 'west']
const ids = new Map<string, string>()

// One server plays all endpoints and tells them apart by key.
before(async () => {
  server = createServer((request, response) => {
    const slug = request.headers.authorization!.slice('Bearer sk-of-'.length)
    request.resume().on('end', () => {
      calledSlugs.push(slug)
      const status = failing.get(slug) ?? 200
      const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
      const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 }
      const whole = { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(status === 200 ? whole : { error: { message: 'no' } }))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  world = await gatewayWorld()
  for (const slug of slugs) {
    const answer = await world.person.post('/ai-gateway/provider-endpoints', {
      slug,
      name: slug,
      shape: 'openai-chat',
      api_key: `sk-of-${slug}`,
      models: [pricedModel('one')],
      base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    })
    assert.equal(answer.status, 201, answer.text)
    ids.set(slug, answer.body.data.id)
  }
})

after(async () => {
  server.closeAllConnections()
  server.close()
  await world[Symbol.asyncDispose]()
})

const preview = (body: object) => world.key.post('/ai-gateway/routing-preview', body)
const change = async (slug: string, body: object) => {
  const answer = await world.person.patch(`/ai-gateway/provider-endpoints/${ids.get(slug)}`, body)
  assert.equal(answer.status, 200, answer.text)
}

const call = (body: object, headers: Record<string, string> = {}) =>
  world.key.post('/compat-c/v1/chat/completions', { messages: userMessages('hello'), ...body }, headers)

/** Successful calls restore every endpoint's health. */
async function heal() {
  failing.clear()
  for (const slug of slugs) for (const name of ['one', 'two', 'free']) await call({ model: `${slug}/${name}` })
  calledSlugs = []
}

const somePrice = fc.constantFrom(0.1, 1, 1, 3)
const endpoint = fc.record({
  priority: fc.nat(2),
  weight: fc.constantFrom(0, 1, 5),
  data_policy: fc.record({ keeps: fc.constantFrom(true, false, null), trains: fc.constantFrom(true, false, null) }),
  models: fc
    .uniqueArray(
      fc.record({
        id: fc.constantFrom('one', 'one', 'two'),
        pricing: fc.option(fc.record({ input: somePrice, output: somePrice }), { nil: undefined, freq: 8 }),
        context_length: fc.constantFrom(undefined, 1, 1_000),
        max_output_tokens: fc.constantFrom(undefined, 10, 100),
        capabilities: fc.constantFrom(undefined, ['tools'], ['vision']),
        quantization: fc.constantFrom(undefined, 'fp8'),
      }),
      { selector: ({ id }) => id, minLength: 1 },
    )
    .map((models) => models.map((model) => JSON.parse(JSON.stringify(model)))),
})

const names = fc.uniqueArray(fc.constantFrom(...slugs), { minLength: 1 })
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 3 })
const preferences = fc.record({
  order: maybe(names),
  only: maybe(names),
  ignore: maybe(names),
  allow_fallbacks: fc.constantFrom(undefined, undefined, true, false),
  data_collection: fc.constantFrom(undefined, undefined, undefined, 'deny'),
  zdr: fc.constantFrom(undefined, undefined, undefined, true),
  quantizations: fc.constantFrom(undefined, undefined, undefined, ['fp8'], ['fp8', 'unknown']),
  sort: fc.constantFrom(undefined, 'price', 'throughput', 'latency', 'exacto', { by: 'price', partition: 'none' }),
  max_price: fc.constantFrom(undefined, undefined, { prompt: 1 }),
})

test('the previewed order is the order of a live call with its seed, for any endpoints and preferences', async () => {
  let answerCount = 0
  let longest = 0
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(endpoint, endpoint, endpoint, endpoint),
      fc.record({
        model: fc.constantFrom('one', 'one', 'one:floor', 'one:nitro', 'east/one'),
        models: fc.constantFrom([], [], ['two']),
        provider: preferences,
        max_tokens: fc.constantFrom(null, 20),
        tools: fc.boolean(),
        seed: fc.nat(4_000_000_000),
      }),
      fc.nat(3),
      async (endpoints, wish, survivors) => {
        for (const [i, slug] of slugs.entries()) await change(slug, endpoints[i]!)
        await heal()
        const { models, provider, tools, max_tokens, seed, model } = JSON.parse(JSON.stringify(wish))
        const body = { model, provider, ...(models.length > 0 && { models }), ...(max_tokens && { max_tokens }) }
        // The fields of a call beyond those of the preview.
        const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
        const live = { ...body, ...(tools && { tools: [tool] }) }
        const previewResult = await preview({ ...wish, ...body, max_tokens, seed, models, input_tokens: 2 })
        const order: string[] =
          previewResult.body.data?.candidates.map((one: { provider: string }) => one.provider) ?? []
        // All but the last few fail, so that the whole order is visible.
        for (const slug of order.slice(0, Math.max(0, order.length - survivors))) failing.set(slug, 401)
        const answer = await call(live, { 'x-uk-seed': String(seed) })
        if (previewResult.status !== 200) return assert.equal(answer.status, 400, answer.text)
        if (order.length === 0) {
          assert.equal(answer.status, 404, answer.text)
          assert.ok(previewResult.body.data.excluded.length > 0)
          return
        }
        const winner = order.findIndex((slug) => !failing.has(slug))
        assert.deepEqual(calledSlugs, winner < 0 ? order : order.slice(0, winner + 1))
        assert.match(answer.headers.get('x-uk-route')!, new RegExp(`provider=${calledSlugs.at(-1)}; seed=${seed}$`))
        answerCount++
        longest = Math.max(longest, order.length)
      },
    ),
    { numRuns: 30, seed: 7 },
  )
  assert.ok(answerCount > 10 && longest >= 4, `${answerCount} routes were taken, the longest of ${longest}`)
})

test('a preview shows the maximum cost, and why a provider is skipped', async () => {
  await change('north', {
    models: [pricedModel('one', { context_length: 1_000, max_output_tokens: 100 })],
    priority: 0,
    data_policy: {},
  })
  await change('east', { models: [{ id: 'one' }], priority: 1, data_policy: { keeps: null, trains: false } })
  await change('south', { models: [pricedModel('one', { quantization: 'fp8' })], priority: 2 })
  await change('west', { models: [pricedModel('two')] })
  await heal()
  const { body } = await preview({ model: 'one', seed: 1, input_tokens: 10, max_tokens: 50 })
  assert.deepEqual(
    body.data.candidates.map((one: Record<string, unknown>) => [one.provider, one.max_cost_usd, one.reason]),
    [
      ['north', 0.00011, 'your own endpoint'],
      ['east', null, 'your own endpoint'],
      ['south', 0.00011, 'your own endpoint'],
    ],
  )
  assert.equal(body.data.candidates[0].endpoint_id, ids.get('north'))
  const provider = { data_collection: 'deny', ignore: ['south'] }
  const { data } = (await preview({ model: 'one', provider })).body
  assert.deepEqual([data.candidates.length, data.candidates[0].provider], [1, 'east'])
  const why = new Map(data.excluded.map((one: Record<string, string>) => [one.provider, one.reason]))
  assert.deepEqual([...why.keys()].toSorted(), ['north', 'south'])
  assert.match(String(why.get('north')), /`data_policy.trains`/)
  // The live call refuses with the same reasons.
  const refusal = await call({ model: 'one', provider: { only: ['north'], zdr: true } })
  assert.equal(refusal.status, 404, refusal.text)
  assert.match(refusal.body.error.message, /north: .*`data_policy.keeps`/)
  const wrong = await preview({ model: 'one', provider: { sort: 'speed' } })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'provider.sort'])
  assert.equal((await preview({ model: 'nowhere/none' })).status, 404)
})

test('offers beyond balance and caps are skipped by the preview, and by a live call on every route', async () => {
  const { id: team } = (await world.person.post('/workspaces', { name: 'Team' })).body.data
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const offers: Record<string, object> = {
    dear: { priority: 1, models: [{ id: 'paid', pricing: { input: 1_000, output: 1_000 } }] },
    cheap: { priority: 2, models: [pricedModel('paid')] },
    vague: { models: [{ id: 'vague' }] },
  }
  for (const [slug, more] of Object.entries(offers)) {
    const endpoint = { slug, name: slug, shape: 'openai-chat', api_key: `sk-of-${slug}`, base_url, workspace_id: team }
    const newEndpoint = await world.person.post('/ai-gateway/provider-endpoints', { ...endpoint, ...more })
    assert.equal(newEndpoint.status, 201, newEndpoint.text)
  }
  const key = (spend_cap_usd: number) => world.person.key({ workspace_id: team, spend_cap_usd })
  const small = await key(0.1)
  const body = (model: string, more: object = {}) => ({
    model,
    messages: userMessages('hello'),
    max_tokens: 200,
    ...more,
  })
  const previewFor = async (by: typeof small, model: string, models: string[] = []) => {
    const { data } = (await by.post('/ai-gateway/routing-preview', { model, models, max_tokens: 200 })).body
    return [data.candidates, data.excluded].map((all: { provider: string }[]) => all.map((one) => one.provider))
  }
  assert.deepEqual(await previewFor(small, 'paid'), [['cheap'], ['dear']])
  for (const path of ['/compat-a/v1/chat/completions', '/compat-b/v1/messages', '/compat-c/v1/chat/completions']) {
    calledSlugs = []
    const answer = await small.post(path, body('paid'))
    assert.deepEqual([answer.status, calledSlugs], [200, ['cheap']], `${path}: ${answer.text}`)
  }
  calledSlugs = []
  const { max_tokens: max_output_tokens, ...rest } = body('paid')
  const inference = await small.post('/inference/text', { ...rest, max_output_tokens, workspace_id: team })
  assert.deepEqual([inference.status, calledSlugs], [200, ['cheap']], inference.text)

  // A model without a price yields to the next named one.
  assert.deepEqual(await previewFor(small, 'vague/vague', ['cheap/paid']), [['cheap'], ['vague']])
  calledSlugs = []
  const instead = await small.post('/compat-c/v1/chat/completions', {
    ...body('vague/vague'),
    models: ['vague/vague', 'cheap/paid'],
  })
  assert.deepEqual([instead.status, calledSlugs], [200, ['cheap']], instead.text)

  // A failed call also moves on to affordable offers; if there are none, the first reports its cost.
  failing.set('cheap', 503)
  const response = await small.post('/compat-a/v1/chat/completions', body('paid'))
  failing.clear()
  assert.ok(response.status >= 500, response.text)
  const tiny = await key(0.000001)
  assert.deepEqual(await previewFor(tiny, 'paid'), [[], ['dear', 'cheap']])
  calledSlugs = []
  const refusal = await tiny.post('/compat-a/v1/chat/completions', body('paid'))
  assert.deepEqual([refusal.status, calledSlugs], [402, []], refusal.text)
  assert.match(refusal.body.error.message, /can cost up to 0\.2/)
  const { ledger, postgres } = world.server.app.engine
  await ledger.flush()
  const { rows } = await postgres.pool.query('select from reservations')
  assert.equal(rows.length, 0)
})
