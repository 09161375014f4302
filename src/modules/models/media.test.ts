import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { call, outcome, payer } from '#test/infra/ledger-calls.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { usageOf } from '#core/usage.ts'

let server: TestServer
let alice: Person
let bob: Person
before(async () => {
  server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

const at = '/ai-gateway/provider-endpoints'
const models = [
  { id: 'sketch', kind: 'image', pricing: { image: 3_000 } },
  { id: 'canvas', name: 'A canvas', kind: 'image', pricing: { pixel: 0.02 } },
  { id: 'gallery', kind: 'image', pricing: { variants: [{ when: { quality: 'low' }, image: 9_000 }] } },
  { id: 'mystery', kind: 'image' },
  { id: 'tokens', kind: 'image', pricing: { input: 5, output: 40 } },
  { id: 'film', kind: 'video', pricing: { video_second: 400_000 } },
  { id: 'tale', kind: 'speech', pricing: { character: 15 } },
  { id: 'notes', kind: 'transcription', pricing: { audio_second: 100 } },
  { id: 'chat' },
]
const studio = (more: object = {}) => ({
  slug: 'studio',
  name: 'Studio',
  shape: 'openai-chat',
  base_url: 'https://studio.example/v1',
  api_key: 'sk-alice',
  models,
  test: false,
  ...more,
})

interface Shown {
  slug: string
  provider: string
  kind: string
  status: string
  [fact: string]: unknown
}
interface Found {
  items: Shown[]
  total_count: number
  offset: number
  has_more: boolean
  query: string | null
  applied_filters: object
}
async function got<T>(who: Caller, path: string): Promise<T> {
  const { status, body, text } = await who.get(path)
  assert.equal(status, 200, text)
  return body as T
}
const listed = async (who: Caller, path: string): Promise<Shown[]> => (await got<{ data: Shown[] }>(who, path)).data
const found = (who: Caller, path: string) => got<Found>(who, path)
const slugs = (rows: Shown[]): string[] => rows.map(({ slug }) => slug)

test('media models appear in the list of their kind, only for their owner, until the endpoint is disabled', async () => {
  const { body, status, text } = await alice.post(at, studio())
  assert.equal(status, 201, text)
  const lists = ['/images/models', '/videos/models', '/audio/models']
  const shown = await Promise.all(lists.map(async (path) => slugs(await listed(alice, `${path}?provider=studio`))))
  assert.deepEqual(shown, [
    ['studio/canvas', 'studio/gallery', 'studio/mystery', 'studio/sketch', 'studio/tokens'],
    ['studio/film'],
    ['studio/notes', 'studio/tale'],
  ])
  assert.deepEqual(slugs(await listed(alice, '/audio/models?provider=studio&kind=speech')), ['studio/tale'])
  const [film] = await listed(alice, '/videos/models?provider=studio')
  const { kind, status: state, pricing, modes, seconds, audio } = film as any
  assert.deepEqual(
    [kind, state, pricing.video_second, modes, seconds, audio],
    ['video', 'available', 400_000, [], [], null],
  )
  assert.ok(slugs(await listed(bob, '/audio/models')).includes('local/flite'))
  for (const path of lists) {
    const others = await listed(bob, path)
    assert.ok(others.length > 0 && others.every(({ provider }) => provider !== 'studio'), path)
    assert.equal((await found(bob, `${path}/search?q=studio`)).total_count, 0)
  }
  const pages = await got<{ data: Shown[]; pagination: { next_cursor: string } }>(
    alice,
    '/images/models?limit=2&provider=studio',
  )
  const next = `/images/models?limit=2&provider=studio&cursor=${pages.pagination.next_cursor}`
  assert.deepEqual(slugs(await listed(alice, next)), ['studio/mystery', 'studio/sketch'])
  assert.equal((await alice.get(next.replace('provider=studio&', ''))).body.error.code, 'invalid_cursor')

  assert.equal((await alice.patch(`${at}/${body.data.id}`, { enabled: false })).status, 200)
  assert.deepEqual(await listed(alice, '/images/models?provider=studio'), [])
  assert.equal((await alice.patch(`${at}/${body.data.id}`, { enabled: true, test: false })).status, 200)
})

test('search returns the matching models; an unknown price matches no limit and is sorted last', async () => {
  const price = async (query: string) =>
    slugs((await found(alice, `/images/models/search?provider=studio&${query}`)).items)
  // A picture of 1024 × 1024 at 0.02 USD per million pixels costs 0.02097152.
  const cheap = ['studio/sketch', 'studio/gallery', 'studio/canvas']
  assert.deepEqual(await price('sort=price'), [...cheap, 'studio/mystery', 'studio/tokens'])
  assert.deepEqual(await price('sort=price&order=desc'), [...cheap.toReversed(), 'studio/mystery', 'studio/tokens'])
  assert.deepEqual(await price('max_price=0.01'), ['studio/gallery', 'studio/sketch'])
  assert.deepEqual(await price('max_price=0.021&sort=price'), cheap)
  assert.deepEqual(await price('tier=fast'), [], 'nobody says of which tier they are')

  const { items, ...envelope } = await found(
    alice,
    '/images/models/search?q=CANVAS&provider=studio&limit=1&max_price=1',
  )
  assert.deepEqual(slugs(items), ['studio/canvas'])
  assert.deepEqual(envelope, {
    total_count: 1,
    offset: 0,
    has_more: false,
    query: 'CANVAS',
    applied_filters: { provider: 'studio', max_price: 1 },
  })
  const video = async (query: string) => slugs((await found(alice, `/videos/models/search?${query}`)).items)
  assert.deepEqual(await video('mode=frames'), ['sim/video'])
  assert.deepEqual(await video('max_price=0.4&sort=price'), ['sim/video', 'studio/film'])
  assert.deepEqual(await video('max_price=0.39'), ['sim/video'])
  assert.deepEqual(await video('audio=true'), [])
  const sound = async (query: string) =>
    slugs((await found(alice, `/audio/models/search?provider=studio&${query}`)).items)
  assert.deepEqual(await sound('kind=transcription'), ['studio/notes'])
  assert.deepEqual(await sound('sort=price'), ['studio/tale', 'studio/notes'])
  assert.deepEqual(await sound('language=en'), [], 'nobody says what they speak')
  const english = slugs((await found(alice, '/audio/models/search?language=en&kind=speech')).items)
  assert.ok(english.includes('local/flite'))
  const catalogue = await found(alice, '/audio/models/search?status=no_provider&q=whisper')
  assert.ok(
    catalogue.total_count > 0 &&
      catalogue.items.every(({ status, kind }) => status === 'no_provider' && kind === 'transcription'),
  )
  for (const [path, param] of [
    ['/images/models/search?tier=cheap', 'tier'],
    ['/videos/models/search?mode=fast', 'mode'],
    ['/audio/models/search?language=English!', 'language'],
    ['/audio/models/search?sort=tier', 'sort'],
    ['/images/models?kind=video', 'kind'],
    ['/audio/voices?gender=any', 'gender'],
  ])
    assert.equal((await alice.get(path!)).body.error.param, param)
  const bare = await alice.key({ scopes: [] })
  assert.equal((await bare.get('/images/models')).body.error.details.required_scope, 'model:read')
})

test('every process reads a model’s recent speech speed from the ledger', async () => {
  await using twin = await server.twin()
  const [tale] = await listed(alice, '/audio/models?provider=studio&kind=speech')
  assert.equal(tale!.speed, null)
  assert.equal((await found(alice, '/audio/models/search?min_speed=0&provider=studio')).total_count, 0)
  const { ledger } = server.app.engine
  const endpointId = (await alice.get(at)).body.data.find(({ slug }: { slug: string }) => slug === 'studio').id
  const by = payer({ tier: 'unlimited', accountId: alice.id, workspaceId: alice.workspaceId })
  const spoke = (characters: number, durationMs: number, more: object = {}) =>
    ledger.settle(
      call(by, { model: 'studio/tale', provider: 'studio', endpointId, billing: 'byok' }),
      outcome(0n, { usage: usageOf({ characters }), durationMs, ...more }),
    )
  spoke(100, 500)
  spoke(200, 1_000)
  spoke(9, 60_000, { status: 'failed' })
  await ledger.flush()
  for (const origin of [server.origin, twin.origin]) {
    const key = await alice.key()
    const answer = await fetch(`${origin}/v1/audio/models/search?min_speed=200&sort=speed`, { headers: key.headers })
    const { items } = (await answer.json()) as Found
    assert.deepEqual(
      items.map(({ slug, speed }) => [slug, speed]),
      [['studio/tale', 200]],
    )
  }
  assert.equal((await found(alice, '/audio/models/search?min_speed=201')).total_count, 0)
})
