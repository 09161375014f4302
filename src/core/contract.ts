/**
 * The language that every area is written in: endpoints, replies, areas. Inert data and types; the HTTP line,
 * `openapi.json`, the typed client, the CLI, the agent tool, the docs and the derived tests are readings of it.
 */
import { z } from 'zod'
import type { Background, Bytes, Event, Page, Results } from './answers.ts'
import type { Code } from './errors.ts'
import type { Id } from './ids.ts'
import type { Capability, Role, Scope } from './scopes.ts'

/** The newest dated version of the contract: what new keys are pinned to and sessions speak. */
export const newestVersion = '2026-11-21'

type Shape = z.ZodRawShape
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The kind of an endpoint's answer. One kind, so no two flags can contradict each other; each face has one branch per kind. */
export type Reply =
  | { kind: 'one'; of: z.ZodType }
  | { kind: 'page'; of: z.ZodType; extra?: Shape; or?: z.ZodType }
  | { kind: 'results'; of: z.ZodType; filters: Shape }
  | { kind: 'operation'; of: z.ZodType; events?: z.ZodType }
  | { kind: 'stream'; of: z.ZodType; belongs: 'server' | 'caller' }
  | { kind: 'bytes' }
  | { kind: 'deleted' }
  | { kind: 'none' }

/** `{data: X}` */
export const one = <T extends z.ZodType>(of: T) => ({ kind: 'one', of }) as const
/** `{data: X[], pagination}`, `cursor` and `limit` in the query; `extra` are further top-level keys. */
export const page = <T extends z.ZodType>(of: T) => ({ kind: 'page', of }) as const
/** A page, or `{data: Y}` where the query asks for that view. */
export const pageOr = <T extends z.ZodType, Y extends z.ZodType>(of: T, or: Y) => ({ kind: 'page', of, or }) as const
/** `{items, total_count, offset, has_more, query, applied_filters}`, `offset` and `limit` in the query. */
export const results = <T extends z.ZodType, const F extends Shape>(of: T, filters: F) =>
  ({ kind: 'results', of, filters }) as const
/** X inline with the endpoint's status, or an operation with 202 when the call goes to the background. */
export const operation = <T extends z.ZodType>(of: T) => ({ kind: 'operation', of }) as const
/** The same, or with `Accept: text/event-stream` what happens meanwhile as server-sent events, which end with the caller. */
export const operationOrEvents = <T extends z.ZodType, E extends z.ZodType>(of: T, events: E) =>
  ({ kind: 'operation', of, events }) as const
/**
 * Server-sent events; `of` is the union of `{event, data}` that may come. What the `server` does goes on without its readers, and who loses the stream takes it up elsewhere; one of the
 * `caller` ends with it, cannot be resumed, and is let run to its end by a server that stops.
 */
export const stream = <T extends z.ZodType>(of: T, belongs: 'server' | 'caller' = 'server') =>
  ({ kind: 'stream', of, belongs }) as const
export const bytes = { kind: 'bytes' } as const
/** `{deleted: true, id}`, unwrapped. */
export const deleted = { kind: 'deleted' } as const
/** 204 without a body. */
export const none = { kind: 'none' } as const

/**
 * The callers allowed: `any` a key or a session · `session` only a signed-in person, not a key · `sign_in` everybody,
 * and the answer may set the session cookie, so the checks against cross-site calls hold · `open` everybody.
 */
export type Auth = 'any' | 'session' | 'sign_in' | 'open'
export type LimitClass = 'reads' | 'writes' | 'searches' | 'inference'

export interface Spec<Q extends Shape, B extends Shape, P extends Shape, R extends Reply, H extends Shape> {
  summary: string
  description?: string
  /** The scope that a key must grant; null where being signed in is enough. */
  scope: Scope | null
  /** Default `any`. */
  auth?: Auth
  /**
   * The endpoint gives or takes rights or shares, shows, moves or replaces secrets or vendors, raises caps, or deletes
   * for good: an agent calls it only once a person has agreed to this very call, whatever the policies of its tools
   * say.
   */
  consent?: 'person'
  /** The kind of the resource that the first path parameter names; `permit` finds it and knows the caller's role there. */
  on?: string
  /** The scope needed on that resource where it is less than `scope`: copying reads here and writes elsewhere. */
  onScope?: Scope
  /** The role needed on that resource or workspace where it is not the one of the scope's verb. */
  role?: Role
  /** The share that is enough where the caller has no place in the resource's workspace. Default: `view` reads, nothing else is open to shares. */
  onShare?: 'view' | 'edit' | 'none'
  /** The capability needed on that computer, by ownership or an exposure, and by what the machine itself allows. */
  capability?: Capability
  /** The query or body field that names the workspace the call works in; absent in a call means the personal one. */
  within?: 'workspace_id'
  /** Changes what is the account's own, for which a key that is held to one workspace does not stand: 403 `capability_denied`. */
  ofAccount?: true
  /** Reads or changes what is the caller's alone, under a scope of workspaces: tools that another member chose don't reach it. */
  personal?: true
  /** Works on what is archived or trashed too, where the default for anything but reading is 409 `invalid_state`. */
  inAnyStatus?: boolean
  /** Works in an archived workspace too: it only ends what goes on there. */
  inArchivedWorkspace?: boolean
  /** Path parameters that are not ids. */
  params?: P
  /** The last path parameter takes the rest of the path, slashes included (model slugs). */
  greedy?: boolean
  query?: Q
  body?: B
  /** Fields that HTTP carries as headers: `upload_offset` is `Upload-Offset`. Elsewhere they are fields like any other. */
  headers?: H
  /**
   * The form of the body. `json`, the default · `multipart` besides as `multipart/form-data`, whose parts are the body's
   * fields and then `file` · `bytes` as it is, of any type · `bytes_or_json` as it is where the query names anything, else
   * JSON. What comes that way is `ctx.upload`.
   */
  takes?: 'json' | 'multipart' | 'bytes' | 'bytes_or_json'
  /** The parts of `multipart` that are bytes, in place of `file`; any number of them, behind the fields. */
  parts?: readonly string[]
  /** The call decodes a `Content-Encoding` itself. Without it, one is refused with 415. */
  decodes?: true
  /** The content type of `bytes`, where not every type is taken. */
  bytesAre?: string
  reply: R
  /** Default 200. 201 for what a POST makes, 202 for accepted background work. */
  status?: 200 | 201 | 202
  /** Default: reads for GET, writes for the rest. */
  limit?: LimitClass
  /** The most bytes of a body. Default 1 MiB. */
  bodyLimit?: number
  /** The law lists it so that it is refused with this code, before anything of the call is looked at. */
  refused?: Code
  /** Headers by which `OPTIONS` tells what this path can do. */
  capabilities?: Readonly<Record<string, string>>
  /** The endpoint's own error codes; the usual ones follow from the other fields. */
  errors?: readonly Code[]
  /** The fields of a first call beside the required ones: for the description and the docs. */
  example?: Readonly<Record<string, unknown>>
  /** Words of the CLI where they are not area and verb. */
  cli?: string
  /** The endpoint is not in the law's list: `beyond` is served and described all the same. */
  beyond?: boolean
}

export interface Endpoint<
  Path extends string = string,
  Q extends Shape = Shape,
  B extends Shape = Shape,
  P extends Shape = Shape,
  R extends Reply = Reply,
  H extends Shape = {},
> extends Spec<Q, B, P, R, H> {
  method: Method
  path: Path
}
export type AnyEndpoint = Endpoint<any, any, any, any, any, any>

/** `endpoint('POST /chats/:id/stop', { … })`: method and path in one string, the heading one greps for. */
export function endpoint<
  const Path extends `/${string}`,
  const R extends Reply,
  Q extends Shape = {},
  B extends Shape = {},
  P extends Shape = {},
  H extends Shape = {},
>(at: `${Method} ${Path}`, spec: Spec<Q, B, P, R, H>): Endpoint<Path, Q, B, P, R, H> {
  const space = at.indexOf(' ')
  return { ...spec, method: at.slice(0, space) as Method, path: at.slice(space + 1) as Path }
}

// The loose bound keeps the `any`s of AnyEndpoint from flowing back into what `endpoint()` infers.
export interface Area<E extends Record<string, { method: Method; path: string }> = Record<string, AnyEndpoint>> {
  /** snake_case; the operationId is `<name>_<verb>`, the agent tool's name `<name>.<verb>`. */
  name: string
  title: string
  summary: string
  endpoints: E
}

export const area = <const E extends Record<string, { method: Method; path: string }>>(
  name: string,
  about: { title: string; summary: string },
  endpoints: E,
): Area<E> => ({ name, ...about, endpoints })

// ── fields that many contracts share ─────────────────────────────────────────
export const id = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/, 'must be a 26-character ULID')
  .transform((words) => words.toUpperCase())
  .meta({ id: 'Id', description: 'A ULID: 26 characters of Crockford base32.', example: '01KAJ8R3T2M6QK5W9V0XBZC4DE' })
export const idOut = z.string().meta({ id: 'IdOut', description: 'A ULID in upper case.' })
export const time = z.iso
  .datetime({ precision: 3 })
  .meta({ id: 'Time', description: 'ISO 8601 in UTC, with milliseconds.' })
export const period = z.enum(['day', 'week', 'month', 'total'])
export const usd = z.number().meta({ id: 'Usd', description: 'US dollars, up to 9 decimals.' })
export const status = z.enum(['active', 'archived', 'trashed'])
export const workspaceId = id.optional().describe('The workspace to use. Default: your personal workspace.')

export const allowedModels = z
  .array(
    z
      .string()
      .trim()
      .max(300)
      .regex(/^[^\s/]+\/\S+$/, 'must be a model such as `openai/gpt-4o`, or all models of a provider: `openai/*`'),
  )
  .max(1_000)
  .transform((models) => [...new Set(models)])
  .nullable()
  .describe(
    'The models that may be used: model IDs as listed by `GET /models`, or `provider/*` for all models of a provider. Null allows all models. A request must satisfy the lists of the key, the member, and the workspace.',
  )

/** A UTC day, as of calls and sums. */
export const day = z.iso.date().describe('A UTC date, `YYYY-MM-DD`.')

/** A boolean, also as the words that a query string can hold. */
export const flag = z
  .union([z.boolean(), z.stringbool()], 'must be true or false')
  .meta({ override: { type: 'boolean' } })

/** Text that PostgreSQL can hold: no NUL, no half of a surrogate pair; `most` characters. */
export const words = (most: number) =>
  z
    .string()
    .max(most)
    .refine((text) => !text.includes('\0'), 'must not contain NUL characters')
    .transform((text) => text.toWellFormed())

/** The source of the bytes of an image or a file. */
export const mediaSource = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('url'), url: z.url({ protocol: /^https?$/ }).max(8_192) }),
  z.strictObject({
    kind: z.literal('base64'),
    media_type: z
      .string()
      .regex(/^[\w.+-]+\/[\w.+-]+$/)
      .max(127),
    data: z.base64().min(1),
  }),
])

/** Query of a list that has a life cycle: `?status=` defaults to active. */
export const statusFilter = { status: status.default('active').describe('Filters the list by status.') }

/** `base` is what every stored resource carries. */
export const base = { id: idOut, created_at: time, updated_at: time }
export const inWorkspace = { workspace_id: idOut, created_by: idOut.nullable() }
/** The fields of every resource that lives in a workspace and can be put away. */
export const resourceFields = {
  ...base,
  ...inWorkspace,
  status,
  archived_at: time.nullable(),
  trashed_at: time.nullable(),
}

/**
 * Archive, unarchive, trash, restore, permanent delete: the same five doors on everything that can be put away.
 * `at` and `on` stay literals so that the path parameter keeps its name.
 */
export function lifecycle<T extends z.ZodType, const At extends `/${string}`>(
  of: T,
  at: At,
  on: string,
  scope: Scope,
  noun: string,
) {
  const door = <const P extends string, const R extends Reply>(
    method: Method,
    path: P,
    summary: string,
    reply: R,
    more?: { consent: 'person' },
  ): Endpoint<P, {}, {}, {}, R> => ({
    method,
    path,
    summary,
    scope,
    on,
    inAnyStatus: true,
    reply,
    ...more,
  })
  return {
    archive: door('POST', `${at}/archive`, `Archive ${noun}`, one(of)),
    unarchive: door('POST', `${at}/unarchive`, `Unarchive ${noun}`, one(of)),
    trash: door('DELETE', at, `Move ${noun} to the trash`, deleted),
    restore: door('POST', `${at}/restore`, `Restore ${noun} from the trash`, one(of)),
    permanent_delete: door('DELETE', `${at}/permanent-delete`, `Permanently delete ${noun} from the trash`, deleted, {
      consent: 'person',
    }),
  }
}

// ── the types of a handler and of a client follow from the contract ─────────
type Names<Path> = Path extends `${string}:${infer N}/${infer Rest}`
  ? N | Names<`/${Rest}`>
  : Path extends `${string}:${infer N}`
    ? N
    : never
type Paging<R> = R extends { kind: 'page' }
  ? { cursor?: string | undefined; limit: number }
  : R extends { kind: 'results' }
    ? { offset: number; limit: number }
    : {}
type Read<S extends Shape> = keyof S extends never ? {} : z.output<z.ZodObject<S>>
type Write<S extends Shape> = keyof S extends never ? {} : z.input<z.ZodObject<S>>
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** The input of a handler: path, query, body and paging in one object. */
export type Input<E> =
  E extends Endpoint<infer Path, infer Q, infer B, infer P, infer R, infer H>
    ? Flat<Record<Exclude<Names<Path>, keyof P>, Id> & Read<P> & Read<H> & Read<Q> & Read<B> & Paging<R>>
    : never
/** The request as a caller sends it. */
export type Call<E> =
  E extends Endpoint<infer Path, infer Q, infer B, infer P, infer R, infer H>
    ? Flat<
        Record<Exclude<Names<Path>, keyof P>, string> & Write<P> & Write<H> & Write<Q> & Write<B> & Partial<Paging<R>>
      >
    : never

/** The answer of a handler. (`any`: the reply alone is looked at.) */
export type Output<E> =
  E extends Endpoint<any, any, any, any, infer R>
    ? R extends { kind: 'one'; of: infer T extends z.ZodType }
      ? z.output<T>
      : R extends { kind: 'page'; of: infer T extends z.ZodType }
        ? Page<z.output<T>> | (R extends { or: infer Y extends z.ZodType } ? z.output<Y> : never)
        : R extends { kind: 'results'; of: infer T extends z.ZodType }
          ? Results<z.output<T>>
          : R extends { kind: 'operation'; of: infer T extends z.ZodType }
            ? z.output<T> | Background | (R extends { events: z.ZodType } ? AsyncIterable<Event> : never)
            : R extends { kind: 'stream' }
              ? AsyncIterable<Event>
              : R extends { kind: 'bytes' }
                ? Bytes
                : R extends { kind: 'deleted' }
                  ? { id: Id }
                  : void
    : never

/** The names in a path, first to last. */
export const pathNames = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)

/**
 * The thing that a parameter of a path names, in words: `run` for `:run_id`, else one of what stands before it
 * (`/agents/:id`).
 */
export function thingAt(path: string, name: string): string {
  const [, own] = /^(.+?)(?:_id|Id)$/.exec(name) ?? []
  const before =
    path
      .slice(0, path.indexOf(`:${name}`))
      .split('/')
      .at(-2) ?? ''
  if (own === undefined && before === 'files') return 'file or folder'
  return (own ?? before.replace(/ies$/, 'y').replace(/s$/, '')).replaceAll(/[-_]/g, ' ')
}
