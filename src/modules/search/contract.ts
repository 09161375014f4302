import { z } from 'zod'
import { area, endpoint, id, idOut, time, words } from '#core/contract.ts'

export const searchTypes = ['file', 'note', 'repository', 'chat', 'message', 'agent', 'computer'] as const
const mode = z.enum(['hybrid', 'keyword', 'semantic'])

export const SearchHit = z
  .object({
    type: z.enum(searchTypes),
    id: idOut,
    title: z.string(),
    snippet: z.string().describe('The part of the text around what was found; empty where only the title was.'),
    highlights: z
      .array(z.object({ field: z.enum(['title', 'snippet']), start: z.number().int(), end: z.number().int() }))
      .describe('The words that were found, as UTF-16 offsets into the field; `end` is behind the last one.'),
    score: z.number().describe('By reciprocal rank fusion: Σ 1 / (60 + rank). Comparable within one answer only.'),
    matched_by: z.array(z.enum(['keyword', 'semantic'])),
    parent_id: idOut.nullable().describe('The chat of a message, the folder of a file.'),
    workspace_id: idOut,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'SearchHit' })

const type = z.enum(searchTypes)

export const search = area(
  'search',
  { title: 'Search', summary: 'Everything that one may see, by words and by meaning.' },
  {
    query: endpoint('GET /search', {
      summary: 'Search files, chats, messages, agents and more',
      example: { q: 'autumn' },
      description:
        'Words are found in any form (`running` finds `run`), `"in quotes"` as a phrase, `-not` leaves out, the last word as the beginning of one; names are found in spite of a typo. Numbers, addresses, paths and identifiers (`ORD-2031-5520`, `jane@example.net`) are found whole and by each run of letters or digits, and words with or without their accents; the exact spelling ranks first. Scripts without spaces are found by any two characters that stand together; of a long text the first 100,000 characters are searched. Meaning needs an embedding model (`UK_EMBEDDING_MODEL`, or a local engine that has one); without it the mode is `keyword` and `degraded` says why. What is written is found within a second. At most 500 are found.',
      scope: 'search:read',
      limit: 'searches',
      cli: 'search',
      query: {
        q: words(1_000).refine((text) => text.trim() !== '', 'must not be empty'),
        types: z
          .union([z.array(z.string()), z.string()])
          .optional()
          .transform((given) =>
            given === undefined ? undefined : (Array.isArray(given) ? given : [given]).flatMap((one) => one.split(',')),
          )
          .pipe(z.array(type).max(20).optional())
          .meta({ override: { type: 'array', items: { type: 'string', enum: [...searchTypes] } } })
          .describe('Only these; several by commas. `file` finds notes too.'),
        workspace_id: id.optional().describe('Only in this workspace.'),
        mode: mode.default('hybrid'),
      },
      reply: {
        kind: 'page',
        of: SearchHit,
        extra: {
          mode: mode.describe('The mode that was used.'),
          degraded: z.array(z.string()).describe('What could not be done, and why: `semantic: …`.'),
        },
      },
    }),
  },
)
