import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Person, TestServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { startOpenRouter } from '#test/vendors/openrouter/openrouter.ts'
import type { Vendor } from '#test/vendors/vendor.ts'
import { type House, at, bring, hello, slugs, openHouse } from '#test/endpoints/house.ts'

let house: House
let server: TestServer
let alice: Person
let bob: Person
let ollama: Vendor

before(async () => {
  house = await openHouse()
  ;({ server, alice, bob, ollama } = house)
})
after(() => house[Symbol.asyncDispose]())

test('a provider without a model list isn’t reported as lacking a model', async () => {
  await using vendor = await startOpenAI()
  const { id } = await bring(bob, vendor, 'silent', { api_key: 'sk-wrong' })
  const key = await bob.key()
  for (const [path, body] of [
    ['/compat-a/v1/chat/completions', hello('silent/gpt-4o')],
    ['/compat-b/v1/messages', hello('silent/gpt-4o', { max_tokens: 10 })],
    ['/compat-c/v1/chat/completions', hello('silent/gpt-4o')],
    ['/inference/text', hello('silent/gpt-4o')],
    ['/ai-gateway/routing-preview', { model: 'silent/gpt-4o' }],
  ] as const) {
    const { status, text, headers } = await key.post(path, body)
    assert.equal(status, 502, `${path}: ${text}`)
    assert.match(text, /`silent` doesn’t list its models\. The provider returned status 401.*Fix its key/)
    assert.equal(headers.get('x-should-retry'), 'false')
  }
  assert.equal((await key.post('/compat-a/v1/chat/completions', hello('nobody/gpt-4o'))).status, 404)
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
  const instead = { ...hello('silent/gpt-4o'), models: ['silent/gpt-4o', 'sim/echo'] }
  assert.equal((await key.post('/compat-c/v1/chat/completions', instead)).body.model, 'sim/echo')

  assert.equal((await bob.patch(`${at}/${id}`, { api_key: vendor.key })).status, 200)
  assert.equal((await key.post('/compat-a/v1/chat/completions', hello('silent/gpt-4o'))).status, 200)
})

test('a provider that failed is asked again at once when a request names it', async () => {
  const late = createServer()
  // It rejects every request, without an alternative.
  let isAway = true
  late.on('connection', (socket) => void (isAway && socket.destroy()))
  late.listen(0, '127.0.0.1')
  await once(late, 'listening')
  const { port } = late.address() as AddressInfo
  const away = { origin: `http://127.0.0.1:${port}`, key: 'sk-late' } as Vendor
  await bring(bob, away, 'late')
  const call = () => bob.post('/inference/text', hello('late/tiny'))
  assert.equal((await call()).status, 503)
  late.on('request', (request, response) =>
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify(
        request.url === '/v1/models'
          ? { data: [{ id: 'tiny' }] }
          : {
              id: 'x',
              choices: [{ index: 0, message: { role: 'assistant', content: 'here' }, finish_reason: 'stop' }],
            },
      ),
    ),
  )
  isAway = false
  await until(call, ({ status }) => status !== 503)
  assert.equal((await call()).status, 200)
  late.close()
  late.closeAllConnections()
})

test('a local Ollama is discovered, and its models are free', async () => {
  await ollama.arrival()
  const carl = await server.person('Carl')
  await carl.get('/ai-gateway/providers')
  const { data } = await carl.get('/models/ollama/llama3.2:latest').then(({ body }) => body)
  assert.deepEqual(
    [data.context_length, data.pricing.input, data.capabilities, data.provider],
    [131_072, 0, ['tools'], 'ollama'],
  )
  assert.ok(!(await slugs(carl)).includes('ollama/all-minilm:latest'))
  const answer = await carl.post('/inference/text', hello('ollama/llama3.2:latest'))
  assert.deepEqual(
    [answer.status, answer.body.data?.text, answer.body.data?.cost_usd],
    [200, 'hello you', 0],
    answer.text,
  )
})

test('provider redirects aren’t followed, and invalid responses are reported', async () => {
  const odd = createServer((request, response) => {
    if (request.url!.startsWith('/moved')) response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    else response.end('<html>')
  })
  odd.listen(0, '127.0.0.1')
  await once(odd, 'listening')
  const origin = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`
  const { id } = (await alice.post(at, { name: 'odd', slug: 'odd', shape: 'openai-chat', base_url: `${origin}/moved` }))
    .body.data
  assert.equal((await alice.post(`${at}/${id}/test`)).body.data.error, 'The provider returned status 302.')
  await alice.patch(`${at}/${id}`, { base_url: `${origin}/page` })
  assert.match((await alice.post(`${at}/${id}/test`)).body.data.error, /isn’t valid JSON/)
  await alice.delete(`${at}/${id}`)
  odd.close()
})

test('if the model list is public, the test uses another request', async () => {
  await using vendor = await startOpenRouter()
  const { id } = await bring(alice, vendor, 'router', {
    preset: 'openrouter',
    base_url: `${vendor.origin}/api/v1`,
    api_key: 'sk-or-wrong-0123456789',
  })
  assert.equal((await alice.post(`${at}/${id}/test`)).body.data.ok, false)
  await alice.patch(`${at}/${id}`, { api_key: vendor.key })
  const good = (await alice.post(`${at}/${id}/test`)).body.data
  assert.equal(good.ok, true, good.error)
  await alice.delete(`${at}/${id}`)
})

test('a model has the same creation date on every surface, and none is dated 1970', async () => {
  await using vendor = await startOpenAI()
  const dora = await server.person('Dora')
  await bring(dora, vendor, 'listed')
  await bring(dora, vendor, 'given', { models: [{ id: 'gpt-4o' }] })
  await bring(dora, vendor, 'known', { preset: 'openai' })
  const key = await dora.key()
  for (const slug of ['listed/gpt-4o', 'given/gpt-4o', 'known/gpt-4o', 'sim/echo']) {
    const { created_at } = (await dora.get(`/models/${slug}`)).body.data
    const seconds = Math.floor(Date.parse(created_at) / 1000)
    assert.ok(seconds > Date.UTC(2020, 0) / 1000, slug)
    const [a, b, c] = await Promise.all(
      ['/compat-a/v1/models', '/compat-b/v1/models?limit=1000', '/compat-c/api/v1/models'].map(async (path) =>
        (await key.get(path)).body.data.find(({ id }: { id: string }) => id === slug),
      ),
    )
    assert.deepEqual([a.created, b.created_at, c.created], [seconds, created_at, seconds], slug)
  }
})

test('an Ollama with slow model details delays its model list only briefly', async (t) => {
  const models = Array.from({ length: 100 }, (_, i) => ({ name: `m${i}`, model: `m${i}` }))
  const tarpit = createServer((request, response) => {
    request.resume()
    if (request.url === '/api/tags') response.end(JSON.stringify({ models }))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    tarpit.closeAllConnections()
    tarpit.close()
  })
  await once(tarpit, 'listening')
  const base_url = `http://127.0.0.1:${(tarpit.address() as AddressInfo).port}`
  const dave = await server.person('Dave')
  const tarpitResponse = await dave.post(at, { slug: 'tarpit', name: 'Tarpit', shape: 'ollama', base_url })
  assert.equal(tarpitResponse.status, 201, tarpitResponse.text)
  const searchBody = (await dave.get('/models/search?provider=tarpit')).body
  assert.equal(searchBody.total_count, models.length, 'they are served all the same')
})

test('implausible values in a provider’s model list are ignored', async (t) => {
  const absurd = { context_length: 1e300, max_completion_tokens: -1, created: 1e12 }
  const data = [
    ...Array.from({ length: 50 }, () => ({ id: 'again', name: 'n'.repeat(100_000), ...absurd })),
    { id: 'x'.repeat(100_000) },
    { id: '' },
    { id: 7 },
    null,
  ]
  const liar = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ data }))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    liar.closeAllConnections()
    liar.close()
  })
  await once(liar, 'listening')
  const base_url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}/v1`
  const fay = await server.person('Fay')
  const endpoint = (await fay.post(at, { slug: 'liar', shape: 'openai-chat', base_url, api_key: 'sk-0123456789' })).body
    .data
  assert.equal((await fay.post(`${at}/${endpoint.id}/test`)).body.data.models_count, 1)
  const { items } = (await fay.get('/models/search?provider=liar')).body
  assert.deepEqual(
    items.map((model: Record<string, unknown>) => [model.slug, model.context_length, model.max_output_tokens]),
    [['liar/again', null, null]],
  )
  assert.ok(items[0].name.length <= 120)
  assert.match(items[0].created_at, /^2\d{3}-/)
})
