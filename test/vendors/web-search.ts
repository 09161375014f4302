// Brave, Tavily, and SearXNG on loopback: what each checks in a search, and the shape of its answer.
//
// Sources: api-dashboard.search.brave.com (web search: query, headers, errors), docs.tavily.com (POST /search),
// docs.searxng.org (search API; disabled formats answer 403).
import type { Answer } from './delivery/deliver.ts'
import { type Call, serve } from './server.ts'
import type { Json, Vendor } from './vendor.ts'

type Hit = { title: string; url: string; snippet: string; at?: string }
const hits = (query: string, from: number, count: number): Hit[] =>
  Array.from({ length: count }, (_, i) => ({
    title: `${query} ${from + i}`,
    url: `https://example.com/${from + i}?q=${encodeURIComponent(query)}`,
    snippet: `About ${query}, number ${from + i}`,
    at: '2026-03-04T05:06:07',
  }))

/** Base: `<origin>/res/v1`. */
export const startBrave = (): Promise<Vendor> =>
  serve({
    key: 'brave-key',
    answer: ({ method, path, request: { query, headers } }: Call): Answer => {
      if (path !== '/res/v1/web/search' || method !== 'GET') return { status: 404, body: {} }
      const problem = (status: number, code: string, detail: string): Answer => ({
        status,
        body: { type: 'ErrorResponse', error: { id: 'e', status, code, detail }, time: 1 },
      })
      if (headers['x-subscription-token'] !== 'brave-key')
        return problem(422, 'SUBSCRIPTION_TOKEN_INVALID', 'The provided subscription token is invalid.')
      const unknown = [...query.keys()].find(
        (name) => !['q', 'count', 'offset', 'freshness', 'country', 'search_lang', 'safesearch'].includes(name),
      )
      const count = Number(query.get('count') ?? 20)
      const offset = Number(query.get('offset') ?? 0)
      const q = query.get('q') ?? ''
      if (unknown || !q || q.length > 400 || count < 1 || count > 20 || offset < 0 || offset > 9)
        return problem(422, 'VALIDATION', `Unable to validate request parameter(s) ${unknown ?? ''}`)
      const results = hits(q, offset * count, count).map(({ title, url, snippet, at }) => ({
        title,
        url,
        description: snippet.replace(q, `<strong>${q}</strong>`).replace('About', 'Q&amp;A about'),
        page_age: at,
        age: 'March 4, 2026',
        type: 'search_result',
        language: 'en',
      }))
      return {
        status: 200,
        body: {
          type: 'search',
          query: { original: q, more_results_available: offset < 2 },
          web: { type: 'search', results },
        },
      }
    },
    failure: ({ status }) => ({
      status,
      body: { type: 'ErrorResponse', error: { status, code: 'RATE_LIMITED', detail: 'Too many requests' } },
    }),
    headers: () => ({}),
  })

/** Base: `<origin>`. */
export const startTavily = (): Promise<Vendor> =>
  serve({
    key: 'tvly-key',
    answer: ({ method, path, request }: Call): Answer => {
      if (path !== '/search' || method !== 'POST') return { status: 404, body: {} }
      if (request.headers.authorization !== 'Bearer tvly-key')
        return { status: 401, body: { detail: { error: 'Unauthorized: missing or invalid API key.' } } }
      const body: Json = request.json()
      if (typeof body.query !== 'string' || !(body.max_results >= 0 && body.max_results <= 20))
        return { status: 422, body: { detail: [] } }
      const results = hits(body.query, 0, body.max_results).map(({ title, url, snippet }, i) => ({
        title,
        url,
        content: snippet,
        score: 1 - i / 100,
        raw_content: null,
      }))
      return {
        status: 200,
        body: { query: body.query, follow_up_questions: null, answer: null, images: [], results, response_time: 0.5 },
      }
    },
    failure: ({ status }) => ({
      status,
      body: { detail: { error: 'Your request has been blocked due to excessive requests.' } },
    }),
    headers: () => ({}),
  })

/** Base: `<origin>/searx`, as behind a proxy. */
export const startSearxng = ({ json = true } = {}): Promise<Vendor> =>
  serve({
    key: '',
    answer: ({ path, request: { query } }: Call): Answer => {
      if (path !== '/searx/search') return { status: 404, body: 'Not Found' }
      if (query.get('format') === 'json' && !json)
        return { status: 403, body: '<!doctype html><title>403 Forbidden</title>' }
      const q = query.get('q')
      if (!q) return { status: 400, body: { error: 'No query' } }
      const page = Number(query.get('pageno') ?? 1)
      const results = hits(q, page * 100, page > 2 ? 0 : 12).map(({ title, url, snippet, at }) => ({
        url,
        title,
        content: snippet,
        publishedDate: at,
        engine: 'duckduckgo',
        engines: ['duckduckgo'],
        score: 1.5,
        category: 'general',
      }))
      return {
        status: 200,
        body: {
          query: q,
          number_of_results: 0,
          results,
          answers: [],
          corrections: [],
          infoboxes: [],
          suggestions: [],
          unresponsive_engines: [],
        },
      }
    },
    failure: ({ status }) => ({ status, body: 'Too Many Requests' }),
    headers: () => ({}),
  })
