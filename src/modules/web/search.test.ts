import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'
import { startBrave, startSearxng, startTavily } from '#test/vendors/web-search.ts'

test('without a search provider, the error names the settings that add one', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const answer = await alice.post('/web/search', { query: 'cats' })
  assert.equal(answer.status, 409)
  assert.equal(answer.body.error.code, 'not_ready')
  assert.match(answer.body.error.message, /BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL/)
})

test('Brave results are paged, with markup and entities as plain text', async () => {
  await using brave = await startBrave()
  await using server = await testServer({
    environment: { BRAVE_API_KEY: brave.key, BRAVE_BASE_URL: `${brave.origin}/res/v1` },
  })
  const alice = await server.person('Alice')
  const asked = {
    query: 'red pandas',
    freshness: 'week',
    language: 'en',
    country: 'de',
    domains: ['example.com', 'example.org'],
  }
  const first = await alice.post('/web/search?limit=5', asked)
  assert.equal(first.status, 200, first.text)
  assert.equal(first.body.provider, 'brave')
  assert.equal(first.body.data.length, 5)
  const [one] = first.body.data
  assert.equal(one.published_at, '2026-03-04T05:06:07')
  assert.match(one.snippet, /^Q&A about red pandas/)
  assert.equal(one.score, null)
  const { query, headers } = brave.requests[0]!
  assert.equal(query.get('q'), 'red pandas (site:example.com OR site:example.org)')
  assert.equal(query.get('freshness'), 'pw')
  assert.equal(query.get('country'), 'DE')
  assert.equal(headers['x-subscription-token'], 'brave-key')
  const second = await alice.post(`/web/search?limit=5&cursor=${first.body.pagination.next_cursor}`, asked)
  assert.equal(brave.requests[1]!.query.get('offset'), '1')
  assert.notEqual(second.body.data[0].url, one.url)
  const other = await alice.post(`/web/search?limit=5&cursor=${first.body.pagination.next_cursor}`, {
    query: 'blue whales',
  })
  assert.equal(other.body.error.code, 'invalid_cursor')
})

test('Tavily replaces Brave when its quota is used up, and a request for Brave reports its error without the key', async () => {
  await using brave = await startBrave()
  await using tavily = await startTavily()
  await using server = await testServer({
    environment: {
      BRAVE_API_KEY: brave.key,
      BRAVE_BASE_URL: `${brave.origin}/res/v1`,
      TAVILY_API_KEY: tavily.key,
      TAVILY_BASE_URL: tavily.origin,
    },
  })
  const alice = await server.person('Alice')
  brave.script({ on: 'GET /res/v1/web/search', status: 429, times: 2 })
  const found = await alice.post('/web/search?limit=3', { query: 'cats', country: 'de', domains: ['example.com'] })
  assert.equal(found.body.provider, 'tavily')
  assert.deepEqual(found.body.pagination, { has_more: false, next_cursor: null })
  assert.equal(found.body.data[1].score, 0.99)
  assert.deepEqual(tavily.requests[0]!.json().include_domains, ['example.com'])
  assert.equal(tavily.requests[0]!.json().country, 'germany')
  const failed = await alice.post('/web/search', { query: 'cats', provider: 'brave' })
  assert.equal(failed.status, 502)
  assert.match(failed.body.error.message, /brave answered 429 \(its quota is used up\)/)
  assert.ok(!failed.text.includes(brave.key))
  assert.equal((await alice.post('/web/search', { query: 'cats', provider: 'searxng' })).body.error.code, 'not_ready')
})

test('a SearXNG under a path works, ends after its pages, and a disabled JSON format is explained', async () => {
  await using searxng = await startSearxng()
  await using server = await testServer({ environment: { SEARXNG_URL: `${searxng.origin}/searx/` } })
  const alice = await server.person('Alice')
  const pages: unknown[] = []
  let cursor: string | null = null
  do {
    const answer = await alice.post(`/web/search?limit=12${cursor ? `&cursor=${cursor}` : ''}`, {
      query: 'a b',
      language: 'en',
      country: 'gb',
    })
    assert.equal(answer.status, 200, answer.text)
    pages.push(...answer.body.data)
    cursor = answer.body.pagination.next_cursor
  } while (cursor)
  assert.equal(pages.length, 24)
  assert.equal(searxng.requests[0]!.query.get('language'), 'en-GB')

  await using closed = await startSearxng({ json: false })
  await using other = await testServer({ environment: { SEARXNG_URL: `${closed.origin}/searx` } })
  const bob = await other.person('Bob')
  assert.match((await bob.post('/web/search', { query: 'x' })).body.error.message, /search\.formats/)
})
