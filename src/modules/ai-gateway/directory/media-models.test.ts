import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let mallory: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  mallory = await server.person('Mallory')
})
after(() => server[Symbol.asyncDispose]())

const at = '/ai-gateway/provider-endpoints'
const endpoint = (models: object[]) => ({
  slug: 'studio',
  name: 'Studio',
  shape: 'openai-chat',
  base_url: 'https://studio.example/v1',
  api_key: 'sk-alice',
  test: false,
  models,
})
const preview = (who: Person, model: string) => who.post('/ai-gateway/routing-preview', { model })

test('media models can be added with prices by variant, which the preview uses; other users can’t see them', async () => {
  const variants = [{ when: { quality: 'high' }, image: 167_000 }]
  const painter = { id: 'painter', kind: 'image', pricing: { image: 40_000, variants } }
  const speaker = { id: 'speaker', kind: 'speech', pricing: { character: 15 } }
  const { status, text, body } = await alice.post(at, endpoint([painter, speaker, { id: 'writer' }]))
  assert.equal(status, 201, text)
  assert.deepEqual(body.data.models, [painter, speaker, { id: 'writer' }])

  const routing = (await preview(alice, 'studio/painter')).body.data
  assert.deepEqual(routing.excluded, [])
  const { provider, billing, price, max_cost_usd } = routing.candidates[0]
  assert.deepEqual(
    [provider, billing, price, max_cost_usd],
    ['studio', 'byok', { input: 0, output: 0, request: null, unit: 40_000 }, null],
  )
  assert.equal((await preview(alice, 'studio/speaker')).body.data.candidates[0].price.unit, 15)
  assert.equal((await preview(mallory, 'studio/painter')).status, 404)

  const slugs = (await alice.get('/models?limit=100')).body.data.map(({ slug }: { slug: string }) => slug)
  assert.ok(slugs.includes('studio/writer') && !slugs.includes('studio/painter') && !slugs.includes('sim/image'))
  const providers = (await alice.get('/ai-gateway/providers')).body.data
  const counts = Object.fromEntries(
    providers.map((one: { slug: string; models_count: number }) => [one.slug, one.models_count]),
  )
  assert.deepEqual({ ...counts, local: 0 }, { sim: 6, studio: 3, local: 0 })
  assert.equal((await preview(mallory, 'local/flite')).body.data.candidates[0].billing, 'free')
})

test('a text model requires both prices, and a price variant requires a condition', async () => {
  for (const [model, param] of [
    [{ id: 'writer', pricing: { output: 1 } }, 'models.0.pricing.input'],
    [
      { id: 'painter', kind: 'image', pricing: { image: 1, variants: [{ when: {}, image: 1 }] } },
      'models.0.pricing.variants.0.when',
    ],
    [{ id: 'painter', kind: 'picture' }, 'models.0.kind'],
  ] as const) {
    const { status, body } = await alice.post(at, { ...endpoint([model]), slug: 'wrong' })
    assert.equal(status, 400)
    assert.equal(body.error.param, param)
  }
})
