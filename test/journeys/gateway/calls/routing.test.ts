import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { type World, gatewayWorld, priced, said } from '../world.ts'

let world: World
let server: Server
/** The slugs that were asked, by the keys that they were asked with. */
let asked: string[] = []
/** The vendors whose calls fail, and with which status. */
const failing = new Map<string, number>()
const slugs = ['north', 'east', 'south', 'west']
const ids = new Map<string, string>()

// One server stands behind all endpoints and knows them by their keys.
before(async () => {
  server = createServer((request, response) => {
    const slug = request.headers.authorization!.slice('Bearer sk-of-'.length)
    request.resume().on('end', () => {
      asked.push(slug)
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
      models: [priced('one')],
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
  world.key.post('/compat-c/v1/chat/completions', { messages: said('hello'), ...body }, headers)
/** Calls that succeed make everybody as good as before. */
async function heal() {
  failing.clear()
  for (const slug of slugs) for (const name of ['one', 'two', 'free']) await call({ model: `${slug}/${name}` })
  asked = []
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

test('the previewed order is the order that a live call with its seed takes, whatever the endpoints and wishes', async () => {
  let answered = 0
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
        const shown = await preview({ ...wish, ...body, max_tokens, seed, models, input_tokens: 2 })
        const order: string[] = shown.body.data?.candidates.map((one: { provider: string }) => one.provider) ?? []
        // Everybody fails but the last few, so that the whole order is seen.
        for (const slug of order.slice(0, Math.max(0, order.length - survivors))) failing.set(slug, 401)
        const answer = await call(live, { 'x-uk-seed': String(seed) })
        if (shown.status !== 200) return assert.equal(answer.status, 400, answer.text)
        if (order.length === 0) {
          assert.equal(answer.status, 404, answer.text)
          assert.ok(shown.body.data.excluded.length > 0)
          return
        }
        const winner = order.findIndex((slug) => !failing.has(slug))
        assert.deepEqual(asked, winner < 0 ? order : order.slice(0, winner + 1))
        assert.match(answer.headers.get('x-uk-route')!, new RegExp(`provider=${asked.at(-1)}; seed=${seed}$`))
        answered++
        longest = Math.max(longest, order.length)
      },
    ),
    { numRuns: 30, seed: 7 },
  )
  assert.ok(answered > 10 && longest >= 4, `${answered} routes were taken, the longest of ${longest}`)
})

test('a preview says what it would cost at most, and why somebody is left out', async () => {
  await change('north', {
    models: [priced('one', { context_length: 1_000, max_output_tokens: 100 })],
    priority: 0,
    data_policy: {},
  })
  await change('east', { models: [{ id: 'one' }], priority: 1, data_policy: { keeps: null, trains: false } })
  await change('south', { models: [priced('one', { quantization: 'fp8' })], priority: 2 })
  await change('west', { models: [priced('two')] })
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
  const refused = await call({ model: 'one', provider: { only: ['north'], zdr: true } })
  assert.equal(refused.status, 404, refused.text)
  assert.match(refused.body.error.message, /north: .*`data_policy.keeps`/)
  const wrong = await preview({ model: 'one', provider: { sort: 'speed' } })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'provider.sort'])
  assert.equal((await preview({ model: 'nowhere/none' })).status, 404)
})

test('each wish of `provider` means what it means at OpenRouter: who is asked, and after whom', async () => {
  const at = (input: number, more: object = {}) => [{ id: 'one', pricing: { input, output: input }, ...more }]
  const keeps = (kept: boolean | null, trains: boolean | null) => ({ data_policy: { keeps: kept, trains } })
  const weight = { weight: 1 }
  await change('north', { ...weight, priority: 0, models: at(3, { quantization: 'fp8' }), ...keeps(false, false) })
  await change('east', { ...weight, priority: 1, models: at(1, { quantization: 'int4' }), ...keeps(true, false) })
  await change('south', { ...weight, priority: 2, models: at(2, { capabilities: ['tools'] }), ...keeps(null, null) })
  await change('west', { ...weight, priority: 3, models: at(1.5, { capabilities: ['vision'] }), ...keeps(false, true) })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  for (const [provider, order, more] of [
    [{}, 'north east south west', {}],
    [{ order: ['south', 'nobody', 'east'] }, 'south east north west', {}],
    [{ order: ['south', 'east'], allow_fallbacks: false }, 'south east', {}],
    [{ allow_fallbacks: false }, 'north', {}],
    [{ only: ['west', 'south'] }, 'south west', {}],
    [{ ignore: ['north', 'west/turbo'] }, 'east south', {}],
    [{ sort: 'price' }, 'east west south north', {}],
    [{ sort: { by: 'price' } }, 'east west south north', {}],
    [{ max_price: { prompt: 1.5, completion: '2' } }, 'east west', {}],
    [{ data_collection: 'deny' }, 'north east', {}],
    [{ zdr: true }, 'north west', {}],
    [{ quantizations: ['fp8', 'unknown'] }, 'north south west', {}],
    [{ require_parameters: true }, 'north east south', { tools }],
    [{ preferred_max_latency: { p99: 1e9 }, preferred_min_throughput: 0 }, 'north east south west', {}],
    [{ enforce_distillable_text: true }, '', {}],
  ] as const) {
    await heal()
    for (const slug of slugs) failing.set(slug, 401)
    const { status } = await call({ model: 'one', provider, ...more })
    assert.deepEqual([asked.join(' '), status], [order, order === '' ? 404 : 502], JSON.stringify(provider))
  }
})

test('a picture goes to a model that sees, also where it is what a tool answered', async () => {
  const sees = (capabilities: string[]) => ({ models: [priced('one', { capabilities })] })
  await change('north', { ...sees(['tools']), priority: 0 })
  await change('east', { ...sees(['tools', 'vision']), priority: 1 })
  for (const slug of ['south', 'west']) await change(slug, { models: [priced('two')] })
  const url = 'https://example.com/cat.png'
  const image = { type: 'image', source: { type: 'url', url } }
  const result = (content: unknown) => [{ type: 'tool_result', tool_use_id: 't1', content }]
  const after = (content: unknown) => [
    ...said('look'),
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
    { role: 'user', content: result(content) },
  ]
  const output = { type: 'function_call_output', call_id: 't1' }
  const looked = [{ type: 'function_call', call_id: 't1', name: 'look', arguments: '{}' }]
  for (const [path, body, who] of [
    ['/compat-b/v1/messages', { messages: after('a cat') }, 'north'],
    ['/compat-b/v1/messages', { messages: after([image]) }, 'east'],
    ['/compat-b/v1/messages', { messages: [{ role: 'user', content: [image] }] }, 'east'],
    ['/compat-a/v1/responses', { input: [...looked, { ...output, output: 'a cat' }] }, 'north'],
    [
      '/compat-a/v1/responses',
      { input: [...looked, { ...output, output: [{ type: 'input_image', image_url: url }] }] },
      'east',
    ],
    [
      '/compat-a/v1/responses',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
      'east',
    ],
  ] as const) {
    await heal()
    const answer = await world.key.post(path, { model: 'one', max_tokens: 50, ...body })
    assert.deepEqual([answer.status, asked], [200, [who]], answer.text)
  }
})

test('suffixes choose: the cheapest, the fastest, the free; what is not listed is no model', async () => {
  await change('north', { models: [{ id: 'one', pricing: { input: 5, output: 5 } }], priority: 0 })
  await change('east', { models: [{ id: 'one', pricing: { input: 1, output: 1 } }], priority: 1 })
  await change('south', { models: [{ id: 'one', pricing: { input: 0, output: 0 } }], priority: 2 })
  await heal()
  const route = async (model: string) => {
    const answer = await call({ model })
    return [answer.status, /provider=(\w+)/.exec(answer.headers.get('x-uk-route') ?? '')?.[1]]
  }
  assert.deepEqual(await route('one'), [200, 'north'])
  assert.deepEqual(await route('one:floor'), [200, 'south'])
  assert.deepEqual(await route('one:free'), [200, 'south'])
  assert.deepEqual(await route('north/one:free'), [404, undefined])
  assert.deepEqual(await route('one:thinking'), [400, undefined])
  assert.deepEqual(await route('one:online'), [404, undefined], 'nobody here searches the web')
  assert.equal((await route('one:nitro'))[0], 200)
})

test('with `models`, any failure moves on to the next model, and the answer says which one it is', async () => {
  await change('north', { models: [priced('one')] })
  await change('east', { models: [priced('two')] })
  await change('south', { models: [priced('three')] })
  await heal()
  failing.set('north', 400)
  const answer = await call({ model: 'north/one', models: ['east/two'] })
  assert.deepEqual([answer.status, asked], [200, ['north', 'east']], answer.text)
  assert.equal((await call({ models: ['east/two'] })).status, 200, 'the model may be left out')
  assert.equal((await call({ model: 'north/one' })).status, 400)
  const unknown = await call({ model: 'east/two', models: ['east/typo'] })
  assert.deepEqual([unknown.status, unknown.body.error.availability.code], [400, 'model_not_found'])
})

const row = async (slug: string) => {
  const { body } = await world.key.get('/ai-gateway/providers')
  return body.data.find((one: { slug: string }) => one.slug === slug)
}

test('the list of providers tells who is set aside, why and until when, until its owner changes something', async () => {
  for (const slug of slugs) await change(slug, { models: [priced('one')], priority: 0 })
  await heal()
  assert.deepEqual([(await row('north')).status, (await row('north')).set_aside_until], ['available', null])
  failing.set('north', 401)
  assert.equal((await call({ model: 'north/one' })).status, 502)
  const aside = await row('north')
  assert.deepEqual([aside.status, aside.status_reason], ['set_aside', 'did not accept its key'])
  const seconds = (Date.parse(aside.set_aside_until) - Date.now()) / 1000
  assert.ok(seconds > 290 && seconds <= 300, `${seconds} s`)
  assert.equal((await row('east')).status, 'available')
  await change('north', { api_key: 'sk-of-north' })
  assert.equal((await row('north')).status, 'available', 'a new key is tried at once')
})

test('a change is heard of once, however long transactions stay open elsewhere', async () => {
  const client = await world.server.app.engine.postgres.pool.connect()
  try {
    await client.query('begin; select pg_current_xact_id()')
    await change('north', { models: [priced('one')], weight: 7 })
    await heal()
    failing.set('north', 401)
    assert.equal((await call({ model: 'north/one' })).status, 502)
    // Longer than changes are looked for by themselves.
    await sleep(1_000)
    assert.equal((await row('north')).status, 'set_aside')
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('what balance and caps do not leave is left out of the preview, and by a live call on every way in', async () => {
  const { id: team } = (await world.person.post('/workspaces', { name: 'Team' })).body.data
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const offers: Record<string, object> = {
    dear: { priority: 1, models: [{ id: 'paid', pricing: { input: 1_000, output: 1_000 } }] },
    cheap: { priority: 2, models: [priced('paid')] },
    vague: { models: [{ id: 'vague' }] },
  }
  for (const [slug, more] of Object.entries(offers)) {
    const endpoint = { slug, name: slug, shape: 'openai-chat', api_key: `sk-of-${slug}`, base_url, workspace_id: team }
    const made = await world.person.post('/ai-gateway/provider-endpoints', { ...endpoint, ...more })
    assert.equal(made.status, 201, made.text)
  }
  const key = (spend_cap_usd: number) => world.person.key({ workspace_id: team, spend_cap_usd })
  const small = await key(0.1)
  const body = (model: string, more: object = {}) => ({ model, messages: said('hello'), max_tokens: 200, ...more })
  const previewed = async (by: typeof small, model: string, models: string[] = []) => {
    const { data } = (await by.post('/ai-gateway/routing-preview', { model, models, max_tokens: 200 })).body
    return [data.candidates, data.excluded].map((all: { provider: string }[]) => all.map((one) => one.provider))
  }
  assert.deepEqual(await previewed(small, 'paid'), [['cheap'], ['dear']])
  for (const path of ['/compat-a/v1/chat/completions', '/compat-b/v1/messages', '/compat-c/v1/chat/completions']) {
    asked = []
    const answer = await small.post(path, body('paid'))
    assert.deepEqual([answer.status, asked], [200, ['cheap']], `${path}: ${answer.text}`)
  }
  asked = []
  const { max_tokens: max_output_tokens, ...rest } = body('paid')
  const inference = await small.post('/inference/text', { ...rest, max_output_tokens, workspace_id: team })
  assert.deepEqual([inference.status, asked], [200, ['cheap']], inference.text)

  // A model without a price stands aside for the next one that was named.
  assert.deepEqual(await previewed(small, 'vague/vague', ['cheap/paid']), [['cheap'], ['vague']])
  asked = []
  const instead = await small.post('/compat-c/v1/chat/completions', {
    ...body('vague/vague'),
    models: ['vague/vague', 'cheap/paid'],
  })
  assert.deepEqual([instead.status, asked], [200, ['cheap']], instead.text)

  // A failed call goes on to who can be paid, too; and where nobody can, the first says what it would have taken.
  failing.set('cheap', 503)
  const failed = await small.post('/compat-a/v1/chat/completions', body('paid'))
  failing.clear()
  assert.ok(failed.status >= 500, failed.text)
  const tiny = await key(0.000001)
  assert.deepEqual(await previewed(tiny, 'paid'), [[], ['dear', 'cheap']])
  asked = []
  const refused = await tiny.post('/compat-a/v1/chat/completions', body('paid'))
  assert.deepEqual([refused.status, asked], [402, []], refused.text)
  assert.match(refused.body.error.message, /may cost up to 0\.2/)
  const { ledger, postgres } = world.server.app.engine
  await ledger.flush()
  const { rows } = await postgres.pool.query('select from reservations')
  assert.equal(rows.length, 0)
})
