/**
 * The contract language: endpoints, replies, modules. Inert data and types, from which the HTTP pipeline,
 * `openapi.json`, the typed client, CLI, agent tool, docs, and derived tests are built.
 */
import { z } from 'zod'
import { type Access, resource } from './access.ts'
import type { Background, Bytes, Event, Page, Results } from './answers.ts'
import type { Code } from './errors.ts'
import type { Id } from './ids.ts'
import type { Scope } from './scopes.ts'

export const newestVersion = '2026-11-21'

type Shape = z.ZodRawShape
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One kind per endpoint, so flags can't contradict each other. Each interface has one branch per kind. */
export type Reply =
  | { kind: 'one'; of: z.ZodType }
  | { kind: 'page'; of: z.ZodType; extra?: Shape; or?: z.ZodType }
  | { kind: 'results'; of: z.ZodType; filters: Shape }
  | { kind: 'operation'; of: z.ZodType; events?: z.ZodType }
  | { kind: 'stream'; of: z.ZodType; belongs: 'server' | 'caller' }
  | { kind: 'bytes' }
  | { kind: 'deleted' }
  | { kind: 'none' }

export const one = <T extends z.ZodType>(of: T) => ({ kind: 'one', of }) as const
/** `{data: X[], pagination}` with `cursor` and `limit` in the query. `extra` adds top-level keys. */
export const page = <T extends z.ZodType>(of: T) => ({ kind: 'page', of }) as const
/** A page, or `{data: Y}` if the query asks for that view. */
export const pageOr = <T extends z.ZodType, Y extends z.ZodType>(of: T, or: Y) => ({ kind: 'page', of, or }) as const
/** `{items, total_count, offset, has_more, query, applied_filters}` with `offset` and `limit` in the query. */
export const results = <T extends z.ZodType, const F extends Shape>(of: T, filters: F) =>
  ({ kind: 'results', of, filters }) as const
/** X inline, or 202 with an operation if the call continues in the background. */
export const operation = <T extends z.ZodType>(of: T) => ({ kind: 'operation', of }) as const
/** As `operation`, or server-sent events with `Accept: text/event-stream`. The events end with the caller. */
export const operationOrEvents = <T extends z.ZodType, E extends z.ZodType>(of: T, events: E) =>
  ({ kind: 'operation', of, events }) as const
/**
 * Server-sent events; `of` is the union of `{event, data}`. Work owned by the `server` continues without readers, and a
 * disconnected reader can resume. A stream owned by the `caller` ends with it, can't be resumed, and finishes before
 * the server stops.
 */
export const stream = <T extends z.ZodType>(of: T, belongs: 'server' | 'caller' = 'server') =>
  ({ kind: 'stream', of, belongs }) as const
export const bytes = { kind: 'bytes' } as const
export const deleted = { kind: 'deleted' } as const
export const none = { kind: 'none' } as const

export type LimitClass = 'reads' | 'writes' | 'searches' | 'inference'

export interface Spec<Q extends Shape, B extends Shape, P extends Shape, R extends Reply, H extends Shape> {
  summary: string
  description?: string
  access: Access
  /**
   * The endpoint changes permissions or shares, exposes or replaces secrets or providers, raises caps, or deletes
   * permanently. Agents need a person's approval for each call, regardless of tool policies.
   */
  consent?: 'person'
  params?: P
  /** The last path parameter matches the rest of the path, including slashes (model slugs). */
  greedy?: boolean
  query?: Q
  body?: B
  /** Fields sent as HTTP headers (`upload_offset` as `Upload-Offset`). Elsewhere they are ordinary fields. */
  headers?: H
  /**
   * Body formats. Default `json`. `multipart`: also `multipart/form-data` with the fields before `file`. `bytes`: raw,
   * of any type. `bytes_or_json`: raw if the query has any parameter, else JSON. Raw bytes are in `ctx.upload`.
   */
  takes?: 'json' | 'multipart' | 'bytes' | 'bytes_or_json'
  parts?: readonly string[]
  decodes?: true
  bytesAre?: string
  reply: R
  /** Default 200. 201 for a POST that creates, 202 for background work. */
  status?: 200 | 201 | 202
  limit?: LimitClass
  /** Bytes. Default 1 MiB. */
  bodyLimit?: number
  /** Listed in the contract but always refused with this code, before any other check. */
  refused?: Code
  capabilities?: Readonly<Record<string, string>>
  errors?: readonly Code[]
  example?: Readonly<Record<string, unknown>>
  /** The CLI command, if it isn't module and verb. */
  cli?: string
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

// A loose bound: otherwise the `any`s of AnyEndpoint leak into the types that `endpoint()` infers.
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

export const day = z.iso.date().describe('A UTC date, `YYYY-MM-DD`.')

/** Also accepts the words a query string can contain. */
export const flag = z
  .union([z.boolean(), z.stringbool()], 'must be true or false')
  .meta({ override: { type: 'boolean' } })

/** Text that PostgreSQL can store: no NUL, no lone surrogates, up to `most` characters. */
export const words = (most: number) =>
  z
    .string()
    .max(most)
    .refine((text) => !text.includes('\0'), 'must not contain NUL characters')
    .transform((text) => text.toWellFormed())

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

export const statusFilter = { status: status.default('active').describe('Filters the list by status.') }

export const base = { id: idOut, created_at: time, updated_at: time }
export const workspaceFields = { workspace_id: idOut, created_by: idOut.nullable() }
export const resourceFields = {
  ...base,
  ...workspaceFields,
  status,
  archived_at: time.nullable(),
  trashed_at: time.nullable(),
}

/**
 * The lifecycle endpoints: archive, unarchive, trash, restore, permanent delete. `at` stays a literal type to keep the
 * path parameter's name.
 */
export function lifecycle<T extends z.ZodType, const At extends `/${string}`>(
  of: T,
  at: At,
  type: string,
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
    access: resource(type, { scope, inTrash: true }),
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

export type Input<E> =
  E extends Endpoint<infer Path, infer Q, infer B, infer P, infer R, infer H>
    ? Flat<Record<Exclude<Names<Path>, keyof P>, Id> & Read<P> & Read<H> & Read<Q> & Read<B> & Paging<R>>
    : never
export type Call<E> =
  E extends Endpoint<infer Path, infer Q, infer B, infer P, infer R, infer H>
    ? Flat<
        Record<Exclude<Names<Path>, keyof P>, string> & Write<P> & Write<H> & Write<Q> & Write<B> & Partial<Paging<R>>
      >
    : never

/** `any`, because only the reply matters here. */
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

export const pathNames = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)

/**
 * Returns the noun of a path parameter: `run` for `:run_id`, otherwise the singular of the segment before it
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
