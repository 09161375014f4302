import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { startAnthropic } from '#test/vendors/anthropic/anthropic.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

let server: TestServer
let alice: Person
let openai: Vendor
let anthropic: Vendor
before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  server = await testServer({
    environment: {
      OPENAI_API_KEY: openai.key,
      OPENAI_BASE_URL: `${openai.origin}/v1`,
      ANTHROPIC_API_KEY: anthropic.key,
      ANTHROPIC_BASE_URL: anthropic.origin,
    },
  })
  alice = await server.person('Alice')
})
after(() => Promise.all([server, openai, anthropic].map((one) => one[Symbol.asyncDispose]())))

interface Shown {
  id: string
  slug: string
  name: string
  provider: string
  status: string
  capabilities: string[]
  context_length: number | null
  capability_index: number | null
  pricing: { input: number; output: number } | null
}
const search = async (
  query: string,
  who: Caller = alice,
): Promise<{
  items: Shown[]
  total_count: number
  has_more: boolean
  offset: number
  query: string | null
  applied_filters: Record<string, unknown>
}> => {
  const answer = await who.get(`/models/search?${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

test('the list has the models available now, by slug and in pages', async () => {
  const all: Shown[] = []
  let cursor = ''
  do {
    const { data, pagination } = (await alice.get(`/models?limit=20${cursor && `&cursor=${cursor}`}`)).body
    all.push(...data)
    cursor = pagination.next_cursor ?? ''
    assert.equal(pagination.has_more, cursor !== '')
  } while (cursor)
  assert.deepEqual([...new Set(all.map(({ provider }) => provider))], ['anthropic', 'openai', 'sim'])
  assert.ok(all.every(({ status }) => status === 'available'))
  const slugs = all.map(({ slug }) => slug)
  assert.deepEqual(slugs, slugs.toSorted())
  assert.equal(new Set(slugs).size, slugs.length)
  const others = (await alice.get('/models?status=no_provider&limit=100')).body.data as Shown[]
  assert.ok(
    others.length === 100 && others.every(({ status, slug }) => status === 'no_provider' && !slugs.includes(slug)),
  )
})

test('a model is found by slug, with a plain or an encoded slash, by ID and by bare name', async () => {
  const { data } = (await alice.get('/models/openai/gpt-4o')).body
  assert.deepEqual(
    [data.slug, data.provider, data.pricing.input, data.status],
    ['openai/gpt-4o', 'openai', 2.5, 'available'],
  )
  for (const path of ['openai%2Fgpt-4o', data.id, data.id.toLowerCase(), 'gpt-4o'])
    assert.deepEqual((await alice.get(`/models/${path}`)).body.data, data, path)
  const unserved = (await alice.get('/models/openrouter/anthropic/claude-sonnet-5')).body.data
  assert.deepEqual([unserved.slug, unserved.status], ['openrouter/anthropic/claude-sonnet-5', 'no_provider'])
  assert.equal((await alice.get(`/models/${unserved.id}`)).body.data.slug, unserved.slug)
  assert.equal((await alice.get('/models/no/such')).status, 404)
  const etag = (await alice.get('/models/openai/gpt-4o')).headers.get('etag')!
  assert.equal((await alice.get('/models/openai/gpt-4o', { 'if-none-match': etag })).status, 304)
})

test('every search filter returns exactly the matching models', async () => {
  const every = await search('status=all&limit=1')
  const counted = async (query: string, passes: (model: Shown) => boolean): Promise<void> => {
    const rows: Shown[] = []
    for (let more = true; more;) {
      const found = await search(`status=all&limit=100&offset=${rows.length}&${query}`)
      rows.push(...found.items)
      more = found.has_more
      assert.equal(found.total_count > 0 && found.total_count < every.total_count, true, query)
    }
    assert.ok(rows.every(passes), query)
  }
  await counted('q=OPUS%204', ({ slug, name }) => /opus/i.test(slug + name) && /4/.test(slug + name))
  await counted('provider=openai', ({ provider }) => provider === 'openai')
  await counted('capability=vision', ({ capabilities }) => capabilities.includes('vision'))
  await counted(
    'capability=vision&capability=reasoning',
    ({ capabilities: has }) => has.includes('vision') && has.includes('reasoning'),
  )
  await counted('max_input_price=1', ({ pricing }) => pricing !== null && pricing.input <= 1)
  await counted('max_output_price=2.5', ({ pricing }) => pricing !== null && pricing.output <= 2.5)
  await counted(
    'min_context_length=1000000',
    ({ context_length }) => context_length !== null && context_length >= 1_000_000,
  )
  assert.equal((await search('status=all&min_capability_index=1')).total_count, 0, 'no source rates models')
  const { applied_filters, query } = await search('q=gpt&capability=tools&max_input_price=3&sort=price&order=desc')
  assert.deepEqual(
    [query, applied_filters],
    ['gpt', { capability: ['tools'], max_input_price: 3, sort: 'price', order: 'desc' }],
  )
})

test('each sort has its order, with unknown values last in either direction', async () => {
  const column = async (sort: string, order: string) =>
    (await search(`status=all&limit=100&offset=0&sort=${sort}${order && `&order=${order}`}`)).items
  const price = ({ pricing }: Shown): number => (pricing === null ? Infinity : pricing.input + pricing.output)
  const cheap = (await column('price', '')).map(price)
  assert.deepEqual(
    cheap,
    cheap.toSorted((a, b) => a - b),
  )
  const dear = (await column('price', 'desc')).map(price)
  assert.ok(dear[0]! > dear.at(-1)! && dear.every(Number.isFinite))
  assert.deepEqual(
    dear,
    dear.toSorted((a, b) => b - a),
  )
  const wide = (await column('context_length', '')).map(({ context_length }) => context_length!)
  assert.deepEqual(
    wide,
    wide.toSorted((a, b) => b - a),
  )
  const names = (await column('name', '')).map(({ name }) => name.toLowerCase())
  assert.deepEqual(names, names.toSorted())
  assert.ok((await column('capability_index', '')).every(({ capability_index }) => capability_index === null))
  const { total_count } = await search('status=all')
  const last = (await search(`status=all&sort=price&order=desc&offset=${total_count - 1}`)).items
  assert.equal(last[0]!.pricing, null)
})

test('invalid combinations are rejected with the reason', async () => {
  for (const [query, param] of [
    ['sort=age', 'sort'],
    ['limit=101', 'limit'],
    ['offset=-1', 'offset'],
    ['max_input_price=x', 'max_input_price'],
    ['status=gone', 'status'],
  ])
    assert.equal((await alice.get(`/models/search?${query}`)).body.error.param, param)
  const bare = await alice.key({ scopes: [] })
  assert.equal((await bare.get('/models')).body.error.details.required_scope, 'model:read')
})
