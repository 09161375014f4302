import { z } from 'zod'
import { byScope, inWorkspace, resource, session } from '#core/access.ts'
import * as c from '#core/contract.ts'

const Thing = z
  .object({
    ...c.base,
    ...c.workspaceFields,
    name: z.string(),
    note: z.string().nullable(),
    size: z.number().default(1),
  })
  .meta({ id: 'Thing' })
const Option = z.object({ mark: z.string(), times: z.number().default(2) }).meta({ id: 'Option' })

/** A module with one endpoint per kind, for interface tests where no real module has that kind. */
export const things = c.area(
  'things',
  { title: 'Things', summary: 'Every kind of <endpoint> & `reply`.' },
  {
    list: c.endpoint('GET /things', {
      summary: 'List things',
      access: byScope('chat:read'),
      query: { ...c.statusFilter, tag: z.array(z.string()).optional(), exact: c.flag.optional() },
      reply: c.page(Thing),
    }),
    get: c.endpoint('GET /things/:id', {
      summary: 'Read a thing',
      access: resource('thing', { scope: 'chat:read' }),
      reply: c.one(Thing),
    }),
    create: c.endpoint('POST /things', {
      summary: 'Make a thing',
      access: inWorkspace('chat:write'),
      body: {
        workspace_id: c.workspaceId,
        name: z.string().min(1),
        note: z.string().nullable().default(null),
        options: z.array(Option).default([]),
        extra: z.record(z.string(), z.unknown()).optional(),
        loud: z.boolean().default(true),
        secret: z.string().optional(),
      },
      reply: c.one(Thing),
      status: 201,
      errors: ['already_exists'],
    }),
    options: c.endpoint('GET /things/:id/options', {
      summary: 'List the options',
      access: resource('thing', { scope: 'chat:read' }),
      reply: c.page(Option),
    }),
    search: c.endpoint('GET /things/search', {
      summary: 'Search things',
      access: byScope('search:read'),
      limit: 'searches',
      query: { q: z.string() },
      reply: c.results(Thing, { kind: z.string() }),
    }),
    work: c.endpoint('POST /things/:id/work', {
      summary: 'Work on a thing',
      access: resource('thing', { scope: 'chat:run' }),
      body: { hours: z.number().int().min(1) },
      reply: c.operation(Thing),
    }),
    watch: c.endpoint('GET /things/:id/watch', {
      summary: 'Watch a thing',
      access: resource('thing', { scope: 'chat:read' }),
      reply: c.stream(
        z.discriminatedUnion('event', [
          z.object({ event: z.literal('text.delta'), data: z.object({ delta: z.string() }) }),
          z.object({ event: z.literal('run.completed'), data: z.object({ thing: Thing }) }),
        ]),
      ),
    }),
    content: c.endpoint('GET /things/:name/content', {
      summary: 'The bytes of a thing',
      access: byScope('drive:read'),
      params: { name: z.string() },
      greedy: true,
      reply: c.bytes,
    }),
    forget: c.endpoint('POST /things/forget', { summary: 'Forget all', access: session(), reply: c.none }),
    ...c.lifecycle(Thing, '/things/:id', 'thing', 'chat:write', 'a thing'),
  },
)
