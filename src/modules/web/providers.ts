/** Requests to and responses from three search services, in one format. Pure. */
import { z } from 'zod'
import type { WebResult } from './contract.ts'

export interface WebQuery {
  query: string
  freshness?: 'day' | 'week' | 'month' | 'year' | undefined
  language?: string | undefined
  country?: string | undefined
  domains?: string[] | undefined
  /** 1 to 20. */
  count: number
  page: number
}
export interface WebSearch {
  url: string
  method: 'GET' | 'POST'
  headers: string[]
  body: Buffer | null
}
export interface Found {
  results: z.output<typeof WebResult>[]
  more: boolean
}
export interface Provider {
  name: 'brave' | 'tavily' | 'searxng'
  ask(base: string, key: string, question: WebQuery): WebSearch
  /** Null if the response doesn't have this service's format. */
  read(answer: unknown, question: WebQuery): Found | null
}

const text = z.string().nullish()
const row = (title: unknown, url: string, snippet: unknown, published: unknown, score: number | null = null) => ({
  title: plain(title) || url,
  url,
  snippet: plain(snippet),
  published_at: typeof published === 'string' && published !== '' ? published : null,
  score,
})

/** Services mark matched words with tags and escape the rest. */
const plain = (words: unknown): string =>
  typeof words !== 'string'
    ? ''
    : words
        .replace(/<\/?(strong|b|em|span|mark)\b[^>]{0,200}>/gi, '')
        .replace(/&(?:amp|lt|gt|quot|#0?39|#x27|nbsp);/g, (entity) => entities[entity] ?? entity)
        .replace(/\s+/g, ' ')
        .trim()
const entities: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#039;': "'",
  '&#x27;': "'",
  '&nbsp;': ' ',
}

/** For services without a domain filter, adds the `site:` operator. */
const within = ({ query, domains }: WebQuery): string =>
  domains?.length ? `${query} (${domains.map((domain) => `site:${domain}`).join(' OR ')})` : query

/**
 * https://api-dashboard.search.brave.com/documentation/services/web-search: `offset` counts pages, 0 to 9, of 20
 * results.
 */
const BRAVE_PAGES = 10
const BraveAnswer = z.object({
  query: z.object({ more_results_available: z.boolean().optional() }).optional(),
  web: z
    .object({
      results: z.array(z.object({ title: text, url: z.string(), description: text, page_age: text, age: text })),
    })
    .nullish(),
})
export const brave: Provider = {
  name: 'brave',
  ask(base, key, question) {
    const query = new URLSearchParams({
      q: within(question),
      count: String(question.count),
      offset: String(question.page - 1),
    })
    if (question.freshness)
      query.set('freshness', { day: 'pd', week: 'pw', month: 'pm', year: 'py' }[question.freshness])
    if (question.language) query.set('search_lang', question.language)
    if (question.country) query.set('country', question.country.toUpperCase())
    return {
      url: `${base}/web/search?${query.toString()}`,
      method: 'GET',
      headers: ['accept', 'application/json', 'x-subscription-token', key],
      body: null,
    }
  },
  read(answer, { page }) {
    const { data } = BraveAnswer.safeParse(answer)
    if (!data) return null
    return {
      results: (data.web?.results ?? []).map((one) =>
        row(one.title, one.url, one.description, one.page_age ?? one.age),
      ),
      more: data.query?.more_results_available === true && page < BRAVE_PAGES,
    }
  },
}

/** https://docs.tavily.com/documentation/api-reference/endpoint/search: up to 20 results, no second page. */
const TavilyAnswer = z.object({
  results: z.array(
    z.object({ title: text, url: z.string(), content: text, score: z.number().nullish(), published_date: text }),
  ),
})
export const tavily: Provider = {
  name: 'tavily',
  ask(base, key, { query, count, freshness, domains, country }) {
    const body = {
      query,
      max_results: count,
      search_depth: 'basic',
      ...(freshness && { time_range: freshness }),
      ...(domains?.length && { include_domains: domains }),
      ...(country && { country: countryName(country) }),
    }
    return {
      url: `${base}/search`,
      method: 'POST',
      headers: ['content-type', 'application/json', 'authorization', `Bearer ${key}`],
      body: Buffer.from(JSON.stringify(body)),
    }
  },
  read(answer) {
    const { data } = TavilyAnswer.safeParse(answer)
    return data
      ? {
          results: data.results.map((one) =>
            row(one.title, one.url, one.content, one.published_date, one.score ?? null),
          ),
          more: false,
        }
      : null
  },
}

/** Tavily expects lowercase English country names. */
const countryName = (code: string): string =>
  (new Intl.DisplayNames('en', { type: 'region' }).of(code.toUpperCase()) ?? code).toLowerCase()

/** https://docs.searxng.org/dev/search_api.html: `format=json` must be enabled in the instance's settings. */
const SEARXNG_PAGES = 50
const SearxngAnswer = z.object({
  results: z.array(
    z.object({ title: text, url: z.string(), content: text, publishedDate: text, score: z.number().nullish() }),
  ),
})
export const searxng: Provider = {
  name: 'searxng',
  ask(base, _, question) {
    const query = new URLSearchParams({ q: within(question), format: 'json', pageno: String(question.page) })
    if (question.freshness) query.set('time_range', question.freshness)
    if (question.language)
      query.set(
        'language',
        question.country ? `${question.language}-${question.country.toUpperCase()}` : question.language,
      )
    return {
      url: `${base}/search?${query.toString()}`,
      method: 'GET',
      headers: ['accept', 'application/json'],
      body: null,
    }
  },
  read(answer, { page }) {
    const { data } = SearxngAnswer.safeParse(answer)
    return data
      ? {
          results: data.results.map((one) =>
            row(one.title, one.url, one.content, one.publishedDate, one.score ?? null),
          ),
          more: data.results.length > 0 && page < SEARXNG_PAGES,
        }
      : null
  },
}
