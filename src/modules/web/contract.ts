import { z } from 'zod'
import { area, endpoint, idOut, one, time, words } from '#core/contract.ts'

const provider = z.enum(['brave', 'tavily', 'searxng'])

export const WebPage = z
  .object({
    id: idOut,
    created_at: time,
    url: z.string().describe('As asked.'),
    final_url: z.string().describe('Where redirects led.'),
    status: z.number().int().describe('The HTTP status that the page was served with.'),
    content_type: z.string().nullable(),
    title: z.string().nullable(),
    description: z.string().nullable(),
    author: z.string().nullable(),
    site: z.string().nullable(),
    language: z.string().nullable(),
    published_at: z.string().nullable().describe('As the page says it.'),
    markdown: z
      .string()
      .describe('The content: links absolute, tables and code kept. Plain text and JSON as they are.'),
    total_characters: z.number().int().describe('Of the whole content, of which `markdown` may be a part.'),
    offset: z.number().int(),
    truncated: z.boolean().describe('There is more behind this part, or the page was too large to be read whole.'),
    size_bytes: z.number().int(),
    pages: z.number().int().nullable().describe('Of a PDF.'),
  })
  .meta({ id: 'WebPage' })

export const WebResult = z
  .object({
    title: z.string(),
    url: z.string(),
    snippet: z.string().describe('Plain text.'),
    published_at: z.string().nullable().describe('As the provider says it.'),
    score: z.number().nullable().describe('The provider’s own, where it gives one.'),
  })
  .meta({ id: 'WebResult' })

export const web = area(
  'web',
  { title: 'Web', summary: 'Pages of the web as Markdown, and search by a provider that the instance is set up with.' },
  {
    search: endpoint('POST /web/search', {
      summary: 'Search the web',
      example: { query: 'woodblock prints' },
      description:
        'By Brave, Tavily or SearXNG, whichever the instance is set up with (`BRAVE_API_KEY`, `TAVILY_API_KEY`, `SEARXNG_URL`; in this order, the next when one fails). Without any: 409 `not_ready`. A page may hold fewer results than `limit`: providers give 20 at most.',
      scope: 'web:read',
      limit: 'searches',
      body: {
        query: words(400).refine((text) => text.trim() !== '', 'must not be empty'),
        freshness: z.enum(['day', 'week', 'month', 'year']).optional().describe('Only what is not older than this.'),
        language: z
          .string()
          .regex(/^[a-z]{2}$/, 'must be a two-letter language such as en')
          .optional(),
        country: z
          .string()
          .regex(/^[a-zA-Z]{2}$/, 'must be a two-letter country such as de')
          .optional(),
        domains: z
          .array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, 'must be a domain such as example.com'))
          .max(10)
          .optional()
          .describe('Only results of these domains.'),
        provider: provider.optional().describe('This one and no other.'),
      },
      reply: { kind: 'page', of: WebResult, extra: { provider, query: z.string() } },
      errors: ['not_ready', 'upstream_error', 'timeout'],
    }),
    fetch: endpoint('POST /web/fetch', {
      summary: 'Fetch a page as Markdown',
      description:
        'HTML is reduced to its article, PDFs to their text. Only public addresses are reached (and those in `UK_FETCH_ALLOW`), checked at every redirect; robots.txt is honoured; 10 MiB and 30 s at most. An address that is refused or that robots.txt closes is 403 `policy_denied`, a page that is not served 502 `upstream_error` with `details.status`.',
      scope: 'web:read',
      limit: 'searches',
      body: {
        url: z
          .string()
          .max(8_192)
          .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), 'must be an http or https URL'),
        offset: z.number().int().min(0).default(0).describe('Characters to leave out at the beginning.'),
        max_characters: z.number().int().min(1).max(1_000_000).default(100_000),
      },
      reply: one(WebPage),
      errors: ['policy_denied', 'upstream_error', 'timeout', 'unsupported_media_type', 'unavailable'],
    }),
  },
)
