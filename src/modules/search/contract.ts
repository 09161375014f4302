import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, id, idOut, time, words } from '#core/contract.ts'

export const searchTypes = ['file', 'note', 'repository', 'chat', 'message', 'agent', 'computer'] as const
const mode = z.enum(['hybrid', 'keyword', 'semantic'])

export const SearchHit = z
  .object({
    type: z.enum(searchTypes),
    id: idOut,
    title: z.string(),
    snippet: z.string().describe('The text around the match. Empty if only the title matched.'),
    highlights: z
      .array(z.object({ field: z.enum(['title', 'snippet']), start: z.number().int(), end: z.number().int() }))
      .describe('The matched words, as UTF-16 offsets into the field. `end` is exclusive.'),
    score: z
      .number()
      .describe('The score from reciprocal rank fusion: Σ 1 / (60 + rank). Comparable only within one response.'),
    matched_by: z.array(z.enum(['keyword', 'semantic'])),
    parent_id: idOut.nullable().describe('The chat of a message, or the folder of a file.'),
    workspace_id: idOut,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'SearchHit' })

const type = z.enum(searchTypes)

export const search = area(
  'search',
  { title: 'Search', summary: 'Search by keyword and by meaning across everything you can access.' },
  {
    query: endpoint('GET /search', {
      summary: 'Search files, chats, messages, agents and more',
      example: { q: 'autumn' },
      description:
        'Matches all forms of a word (`running` finds `run`) and treats the last word as a prefix. Use `"quotes"` for phrases and `-word` to exclude. Names tolerate typos. Numbers, email addresses, paths and identifiers (`ORD-2031-5520`, `jane@example.net`) match as a whole and by each run of letters or digits. Accents are optional, but exact spelling ranks first. For scripts without spaces, any two adjacent characters match. Only the first 100,000 characters of a long text are searched. Semantic search needs an embedding model (`UK_EMBEDDING_MODEL`, or a local engine with one); without it, `mode` is `keyword` and `degraded` says why. New content is searchable within a second. Returns up to 500 results.',
      access: byScope('search:read'),
      limit: 'searches',
      cli: 'search',
      query: {
        q: words(1_000).refine((text) => text.trim() !== '', 'must not be empty'),
        types: z
          .union([z.array(z.string()), z.string()])
          .optional()
          .transform((value) =>
            value === undefined ? undefined : (Array.isArray(value) ? value : [value]).flatMap((one) => one.split(',')),
          )
          .pipe(z.array(type).max(20).optional())
          .meta({ override: { type: 'array', items: { type: 'string', enum: [...searchTypes] } } })
          .describe('Only these kinds, comma-separated. `file` includes notes.'),
        workspace_id: id.optional().describe('Only in this workspace.'),
        mode: mode.default('hybrid'),
      },
      reply: {
        kind: 'page',
        of: SearchHit,
        extra: {
          mode: mode.describe('The mode that was used.'),
          degraded: z.array(z.string()).describe('The parts of the search that failed, and why: `semantic: …`.'),
        },
      },
    }),
  },
)
