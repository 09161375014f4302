import { z } from 'zod'
import { type AnyEndpoint, type Area, pathNames } from './contract.ts'
import type { CallContext, Finder } from './context.ts'
import type { Service } from './implement.ts'

export interface ListedEndpoint {
  /** `chats.list`: the agent tool's name. The operationId uses `_` instead of `.`. */
  name: string
  verb: string
  area: Area
  endpoint: AnyEndpoint
}

export interface Entry<C extends CallContext = CallContext> extends ListedEndpoint {
  // Variance: handlers take specific inputs; a method type also accepts richer contexts.
  handle(ctx: C, input: any): unknown
  finder: Finder<C> | null
  query: z.ZodObject
  body: z.ZodObject | null
  headers: z.ZodObject | null
  /** The parsed empty query, which most calls have. Null if a parameter is required. */
  emptyQuery: Readonly<Record<string, unknown>> | null
}

export const list = (areas: readonly Area[]): ListedEndpoint[] =>
  areas.flatMap((area) =>
    Object.entries(area.endpoints).map(([verb, endpoint]) => ({ name: `${area.name}.${verb}`, verb, area, endpoint })),
  )

export function registry<C extends CallContext>(services: readonly Service<C>[]): Entry<C>[] {
  const finders = new Map(services.flatMap((service) => service.finders.map((finder) => [finder.kind, finder])))
  const handlers = new Map(services.map((service) => [service.area.name, service.handlers]))
  const headings = new Set<string>()
  return list(services.map((service) => service.area)).map((item) => {
    const { endpoint, name, verb, area } = item
    const heading = `${endpoint.method} ${endpoint.path.replace(/:\w+/g, ':')}`
    if (headings.has(heading)) throw new Error(`${name}: ${heading} is taken`)
    headings.add(heading)
    const handle = handlers.get(area.name)?.[verb]
    if (!handle) throw new Error(`${name} has no handler`)
    const { access } = endpoint
    const finder = access.kind === 'resource' ? finders.get(access.type) : null
    if (finder === undefined) throw new Error(`${name}: no finder for the type in its access rule`)
    const { query, body, headers } = inputSchemas(endpoint)
    const emptyQuery = query.safeParse({}).data ?? null
    return { ...item, handle, finder: finder as Finder<C> | null, query, body, headers, emptyQuery }
  })
}

const pageSize = z.coerce.number().int().min(1).max(100).default(25).describe('The maximum number of items to return.')

interface InputSchemas {
  query: z.ZodObject
  body: z.ZodObject | null
  headers: z.ZodObject | null
}
const schemaCache = new WeakMap<AnyEndpoint, InputSchemas>()

/** Strict schemas of query, body, and headers. Cached, because each is compiled on first use. */
export function inputSchemas(endpoint: AnyEndpoint): InputSchemas {
  const schemas = schemaCache.get(endpoint) ?? makeSchemas(endpoint)
  schemaCache.set(endpoint, schemas)
  return schemas
}

function makeSchemas({ path, query, body, headers, takes, reply, method }: AnyEndpoint): InputSchemas {
  const inHeaders = Object.keys(headers ?? {})
  const names = [...pathNames(path), ...inHeaders, ...Object.keys(query ?? {}), ...Object.keys(body ?? {})]
  const twice = names.find((name, i) => names.indexOf(name) !== i && !(name in (query ?? {}) && name in (body ?? {})))
  if (twice) throw new Error(`${method} ${path}: ${twice} stands in two places`)
  const paging =
    reply.kind === 'page'
      ? { limit: pageSize, cursor: z.string().optional().describe('The `next_cursor` of the previous page.') }
      : reply.kind === 'results'
        ? { limit: pageSize, offset: z.coerce.number().int().min(0).default(0) }
        : {}
  return {
    query: z.strictObject({ ...query, ...paging }),
    body: method === 'GET' || takes === 'bytes' || (method === 'DELETE' && !body) ? null : z.strictObject(body ?? {}),
    headers: headers ? z.strictObject(headers) : null,
  }
}

export function inputSchema(endpoint: AnyEndpoint): z.ZodObject {
  const { query, body, headers } = inputSchemas(endpoint)
  const ids = pathNames(endpoint.path).map((name) => [name, endpoint.params?.[name] ?? z.string().describe('An ID.')])
  return z.strictObject({ ...Object.fromEntries(ids), ...headers?.shape, ...query.shape, ...body?.shape })
}
