import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
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

test('each preference in `provider` means the same as at OpenRouter: which providers are tried, in which order', async () => {
  const at = (input: number, more: object = {}) => [{ id: 'one', pricing: { input, output: input }, ...more }]
  const keeps = (isKept: boolean | null, trains: boolean | null) => ({ data_policy: { keeps: isKept, trains } })
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
    assert.deepEqual([calledSlugs.join(' '), status], [order, order === '' ? 404 : 502], JSON.stringify(provider))
  }
})

test('an image goes to a vision model, even if it is in a tool result', async () => {
  const sees = (capabilities: string[]) => ({ models: [pricedModel('one', { capabilities })] })
  await change('north', { ...sees(['tools']), priority: 0 })
  await change('east', { ...sees(['tools', 'vision']), priority: 1 })
  for (const slug of ['south', 'west']) await change(slug, { models: [pricedModel('two')] })
  const url = 'https://example.com/cat.png'
  const image = { type: 'image', source: { type: 'url', url } }
  const result = (content: unknown) => [{ type: 'tool_result', tool_use_id: 't1', content }]
  const after = (content: unknown) => [
    ...userMessages('look'),
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
    { role: 'user', content: result(content) },
  ]
  const output = { type: 'function_call_output', call_id: 't1' }
  const toolCall = [{ type: 'function_call', call_id: 't1', name: 'look', arguments: '{}' }]
  for (const [path, body, who] of [
    ['/compat-b/v1/messages', { messages: after('a cat') }, 'north'],
    ['/compat-b/v1/messages', { messages: after([image]) }, 'east'],
    ['/compat-b/v1/messages', { messages: [{ role: 'user', content: [image] }] }, 'east'],
    ['/compat-a/v1/responses', { input: [...toolCall, { ...output, output: 'a cat' }] }, 'north'],
    [
      '/compat-a/v1/responses',
      { input: [...toolCall, { ...output, output: [{ type: 'input_image', image_url: url }] }] },
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
    assert.deepEqual([answer.status, calledSlugs], [200, [who]], answer.text)
  }
})

test('suffixes choose the cheapest, fastest, or free offer; an unserved suffix finds no model', async () => {
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

test('with `models`, any failure moves on to the next model, and the answer names it', async () => {
  await change('north', { models: [pricedModel('one')] })
  await change('east', { models: [pricedModel('two')] })
  await change('south', { models: [pricedModel('three')] })
  await heal()
  failing.set('north', 400)
  const answer = await call({ model: 'north/one', models: ['east/two'] })
  assert.deepEqual([answer.status, calledSlugs], [200, ['north', 'east']], answer.text)
  assert.equal((await call({ models: ['east/two'] })).status, 200, 'the model may be left out')
  assert.equal((await call({ model: 'north/one' })).status, 400)
  const unknown = await call({ model: 'east/two', models: ['east/typo'] })
  assert.deepEqual([unknown.status, unknown.body.error.availability.code], [400, 'model_not_found'])
})

const row = async (slug: string) => {
  const { body } = await world.key.get('/ai-gateway/providers')
  return body.data.find((one: { slug: string }) => one.slug === slug)
}

test('the list of providers shows which are avoided, why, and until when, until the owner changes something', async () => {
  for (const slug of slugs) await change(slug, { models: [pricedModel('one')], priority: 0 })
  await heal()
  const before = await row('north')
  assert.deepEqual([before.serving, before.set_aside_until], [true, null])
  failing.set('north', 503)
  const from = Date.now()
  assert.equal((await call({ model: 'north/one' })).status, 503)
  const aside = await row('north')
  assert.deepEqual([aside.serving, aside.status_reason], [true, 'It recently was overloaded, so it’s tried last.'])
  const ends = Date.parse(aside.set_aside_until)
  assert.ok(ends >= from + 29_000 && ends <= Date.now() + 30_000, `${ends} after ${from}`)
  assert.equal((await row('east')).set_aside_until, null)
  await change('north', { api_key: 'sk-of-north' })
  assert.equal((await row('north')).set_aside_until, null, 'a new key is tried at once')
})

test('a change is noticed once, however long other transactions stay open', async () => {
  const client = await world.server.app.engine.postgres.pool.connect()
  try {
    await client.query('begin; select pg_current_xact_id()')
    await change('north', { models: [pricedModel('one')], weight: 7 })
    await heal()
    failing.set('north', 401)
    assert.equal((await call({ model: 'north/one' })).status, 502)
    // Longer than the polling interval for changes.
    await sleep(1_000)
    assert.equal((await row('north')).status, 'failing')
  } finally {
    await client.query('rollback')
    client.release()
  }
})
