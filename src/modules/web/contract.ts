import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, idOut, one, time, words } from '#core/contract.ts'

const provider = z.enum(['brave', 'tavily', 'searxng'])

export const WebPage = z
  .object({
    id: idOut,
    created_at: time,
    url: z.string().describe('The requested URL.'),
    final_url: z.string().describe('The URL after redirects.'),
    status: z.number().int().describe('The HTTP status of the page.'),
    content_type: z.string().nullable(),
    title: z.string().nullable(),
    description: z.string().nullable(),
    author: z.string().nullable(),
    site: z.string().nullable(),
    language: z.string().nullable(),
    published_at: z.string().nullable().describe('As stated by the page.'),
    markdown: z
      .string()
      .describe('The content as Markdown, with absolute links, tables and code. Plain text and JSON are unchanged.'),
    total_characters: z.number().int().describe('The length of the whole content, of which `markdown` may be a part.'),
    offset: z.number().int(),
    truncated: z.boolean().describe('Whether there is more content, or the page was too large to read completely.'),
    size_bytes: z.number().int(),
    pages: z.number().int().nullable().describe('The number of pages of a PDF.'),
  })
  .meta({ id: 'WebPage' })

export const WebResult = z
  .object({
    title: z.string(),
    url: z.string(),
    snippet: z.string().describe('Plain text.'),
    published_at: z.string().nullable().describe('As reported by the provider.'),
    score: z.number().nullable().describe('The provider’s score, if it returns one.'),
  })
  .meta({ id: 'WebResult' })

export const web = area(
  'web',
  { title: 'Web', summary: 'Fetch web pages as Markdown, and search the web with the instance’s search provider.' },
  {
    search: endpoint('POST /web/search', {
      summary: 'Search the web',
      example: { query: 'woodblock prints' },
      description:
        'Uses the search providers set up on this instance: Brave, Tavily or SearXNG (`BRAVE_API_KEY`, `TAVILY_API_KEY`, `SEARXNG_URL`). They’re tried in this order until one succeeds. If none is set up, the response is 409 `not_ready`. A page can have fewer results than `limit`, because providers return up to 20.',
      access: byScope('web:read'),
      limit: 'searches',
      body: {
        query: words(400).refine((text) => text.trim() !== '', 'must not be empty'),
        freshness: z.enum(['day', 'week', 'month', 'year']).optional().describe('Only results from this period.'),
        language: z
          .string()
          .regex(/^[a-z]{2}$/, 'must be a two-letter language code such as en')
          .optional(),
        country: z
          .string()
          .regex(/^[a-zA-Z]{2}$/, 'must be a two-letter country code such as de')
          .optional(),
        domains: z
          .array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, 'must be a domain such as example.com'))
          .max(10)
          .optional()
          .describe('Only results from these domains.'),
        provider: provider.optional().describe('Use only this provider.'),
      },
      reply: { kind: 'page', of: WebResult, extra: { provider, query: z.string() } },
      errors: ['not_ready', 'upstream_error', 'timeout'],
    }),
    fetch: endpoint('POST /web/fetch', {
      summary: 'Fetch a page as Markdown',
      description:
        'HTML is reduced to its main article, and PDFs to their text. Only public addresses, and those in `UK_FETCH_ALLOW`, can be reached; redirects are checked too. robots.txt is respected. Limits: 10 MiB and 30 s. A blocked address returns 403 `policy_denied`. A page that can’t be loaded returns 502 `upstream_error` with `details.status`.',
      access: byScope('web:read'),
      limit: 'searches',
      body: {
        url: z
          .string()
          .max(8_192)
          .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), 'must be an http or https URL'),
        offset: z.number().int().min(0).default(0).describe('The number of characters to skip.'),
        max_characters: z.number().int().min(1).max(1_000_000).default(100_000),
      },
      reply: one(WebPage),
      errors: ['policy_denied', 'upstream_error', 'timeout', 'unsupported_media_type', 'unavailable'],
    }),
  },
)
