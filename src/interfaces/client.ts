/**
 * The typed client: every area and endpoint of the contracts as a method, over `fetch`, in browsers and in Node.
 *
 *     const uk = createClient(contracts, { origin: 'http://127.0.0.1:4242', key: process.env.UK_KEY })
 *     for await (const chat of (await uk.chats.list({ limit: 100 })).all) console.log(chat.title)
 */
import type { Background, Page, Results } from '#core/answers.ts'
import type { AnyEndpoint, Area, Call, Endpoint } from '#core/contract.ts'
import type { z } from 'zod'
import { type Received, readEvents } from './sse.ts'

export interface ClientOptions {
  /** The instance's address, such as `https://uk.example.com`. In a browser: `location.origin`. */
  origin: string
  /** An API key. Without one a browser sends its session cookie. */
  key?: string | undefined
  /** The dated version to speak. Default: the key's pin, else the newest. */
  version?: string
  /** Sent with every call. */
  headers?: Record<string, string>
  /** Carries requests. Default: `fetch`. */
  send?: Send
}

/** Requests and responses, independent of the transport. */
export interface Outgoing {
  method: string
  url: string
  headers: Record<string, string>
  /** A form sets its own content type. */
  body: string | FormData | Uint8Array<ArrayBuffer> | null
  signal: AbortSignal | undefined
}
export interface Incoming {
  status: number
  header(name: string): string | null
  text(): Promise<string>
  /** A reader that stops early closes the connection. */
  bytes(): AsyncIterable<Uint8Array>
}
export type Send = (outgoing: Outgoing) => Promise<Incoming>

export interface More {
  signal?: AbortSignal
  headers?: Record<string, string>
  /** File content for endpoints that accept a form: `drive.upload`. */
  file?: { bytes: Blob; name: string }
  /** Resumes a stream after the event with this id. */
  lastEventId?: string
}

const unreached = {
  type: 'unavailable',
  message: 'A proxy in front of the server couldn’t reach it. Check that the server is running.',
}
/** Responses of proxies by status: they have neither our format nor our headers. */
const fromProxy: Readonly<Record<number, { type: string; message: string }>> = {
  413: {
    type: 'payload_too_large',
    message:
      'A proxy in front of the server rejected the body as too large. Raise the limit of the proxy (nginx: `client_max_body_size`, Caddy: `request_body`).',
  },
  502: unreached,
  503: unreached,
  504: { type: 'timeout', message: 'A proxy in front of the server timed out.' },
}

/** A failed call. Branch on `type`; `code` gives the reason; quote `requestId` in reports. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly type: string
  readonly code: string | undefined
  readonly param: string | undefined
  readonly details: Record<string, unknown> | undefined
  readonly requestId: string | null
  /** The seconds of `Retry-After`. */
  readonly retryAfterSeconds: number | null
  constructor(
    { status, header }: Pick<Incoming, 'status' | 'header'>,
    error: { type?: string; message?: string; code?: string; param?: string; details?: Record<string, unknown> },
  ) {
    const isOurs = error.type !== undefined || header('x-service-version') !== null
    const { type, message } = isOurs ? { ...error } : (fromProxy[status] ?? {})
    super(message ?? `The server${isOurs ? '' : ', or a proxy in front of it,'} returned status ${status}.`)
    this.status = status
    this.type = type ?? 'internal_error'
    this.code = error.code
    this.param = error.param
    this.details = error.details
    this.requestId = header('x-request-id')
    const after = Number(header('retry-after') ?? NaN)
    this.retryAfterSeconds = Number.isFinite(after) ? after : null
  }
}

/** A page of a list, and with `all` every row from this page to the end. */
export interface Listing<T> extends Page<T> {
  all: AsyncIterable<T>
}
export interface Found<T> extends Results<T> {
  offset: number
  has_more: boolean
}
export interface File {
  header(name: string): string | null
  body: AsyncIterable<Uint8Array>
}

/** The result type of a call. (`any`: only the reply matters.) */
export type Answer<E> =
  E extends Endpoint<any, any, any, any, infer R>
    ? R extends { kind: 'one'; of: infer T extends z.ZodType }
      ? z.output<T>
      : R extends { kind: 'page'; of: infer T extends z.ZodType }
        ? Listing<z.output<T>> | (R extends { or: infer Y extends z.ZodType } ? z.output<Y> : never)
        : R extends { kind: 'results'; of: infer T extends z.ZodType }
          ? Found<z.output<T>>
          : R extends { kind: 'operation'; of: infer T extends z.ZodType }
            ? z.output<T> | Background
            : R extends { kind: 'stream'; of: infer T extends z.ZodType }
              ? AsyncIterable<z.output<T> & { id?: string }>
              : R extends { kind: 'bytes' }
                ? File
                : R extends { kind: 'deleted' }
                  ? { deleted: true; id: string }
                  : void
    : never

type Method<E> =
  {} extends Call<E>
    ? (input?: Call<E>, more?: More) => Promise<Answer<E>>
    : (input: Call<E>, more?: More) => Promise<Answer<E>>

// `any` for variance: areas with any endpoints.
export type Loaders = Record<string, () => Promise<Area<any>>>
export type Client<L extends Loaders> = {
  [N in keyof L]: Awaited<ReturnType<L[N]>> extends Area<infer E> ? { [V in keyof E]: Method<E[V]> } : never
}

export function createClient<const L extends Loaders>(contracts: L, options: ClientOptions): Client<L> {
  const call = createCall(options)
  const areas = Object.entries(contracts).map(([name, load]) => [name, methodsOf(name, load, call)])
  return Object.fromEntries(areas) as Client<L>
}

const methodsOf = (name: string, load: () => Promise<Area>, call: SendCall): object =>
  new Proxy(
    {},
    {
      get: (_: object, verb: string | symbol) =>
        // An object with a `then` would be treated as a promise.
        verb === 'then' || typeof verb !== 'string'
          ? undefined
          : async (input: Record<string, unknown> = {}, more: More = {}) => {
              const endpoint = (await load()).endpoints[verb]
              if (!endpoint) throw new TypeError(`${name}.${verb} is not an endpoint`)
              return answerOf(endpoint, input, more, call)
            },
    },
  )

export type SendCall = (endpoint: AnyEndpoint, input: Record<string, unknown>, more?: More) => Promise<Incoming>

/** Makes a call and returns the raw response. Throws `ApiError` for a status other than 2xx. */
export function createCall({ origin, key, version, headers, send = sendByFetch }: ClientOptions): SendCall {
  return async (endpoint, input, more = {}) => {
    const { path, query, body: json } = split(endpoint, input)
    const body = more.file === undefined ? json : formOf(json, more.file)
    const answer = await send({
      method: endpoint.method,
      url: `${origin.replace(/\/+$/, '')}/v1${path}${query}`,
      body,
      signal: more.signal,
      headers: {
        ...(typeof body === 'string' && { 'content-type': 'application/json' }),
        ...(key === undefined ? { 'x-uk-csrf': '1' } : { authorization: `Bearer ${key}` }),
        ...(version !== undefined && { 'x-service-version': version }),
        ...(more.lastEventId !== undefined && { 'last-event-id': more.lastEventId }),
        ...headers,
        ...more.headers,
      },
    })
    if (answer.status >= 200 && answer.status < 300) return answer
    throw await failureOf(answer)
  }
}

/** Converts a failed response to an `ApiError`. */
export const failureOf = async (answer: Incoming): Promise<ApiError> =>
  new ApiError(answer, errorIn(await answer.text()))

const sendByFetch: Send = async ({ url, signal = null, ...rest }) => {
  const response = await fetch(url, { ...rest, signal, credentials: 'same-origin' })
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    text: () => response.text(),
    bytes: () => partsOf(response),
  }
}

function errorIn(text: string): ConstructorParameters<typeof ApiError>[1] {
  try {
    return (JSON.parse(text) as { error?: object }).error ?? {}
  } catch {
    return {}
  }
}

/** Distributes flat input to path, query and body. */
export function split(
  endpoint: AnyEndpoint,
  input: Record<string, unknown>,
): { path: string; query: string; body: string | null } {
  const left = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const path = endpoint.path.replace(/:(\w+)/g, (_: string, name: string) => {
    const value = left.get(name)
    if (value === undefined || value === '') throw new TypeError(`${name} is missing`)
    left.delete(name)
    const words = encodeURIComponent(String(value))
    return endpoint.greedy ? words.replaceAll('%2F', '/') : words
  })
  const query = new URLSearchParams()
  const body: Record<string, unknown> = {}
  for (const [name, value] of left) {
    if (!isInQuery(endpoint, name)) body[name] = value
    else
      for (const one of Array.isArray(value) ? value : [value])
        query.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one))
  }
  const carries = Object.keys(body).length > 0
  return { path, query: query.size > 0 ? `?${query.toString()}` : '', body: carries ? JSON.stringify(body) : null }
}

/** Form data with the fields first and the file last. */
function formOf(json: string | null, { bytes, name }: { bytes: Blob; name: string }): FormData {
  const form = new FormData()
  for (const [key, value] of Object.entries(JSON.parse(json ?? '{}') as Record<string, unknown>))
    form.append(key, typeof value === 'string' ? value : JSON.stringify(value))
  form.append('file', bytes, name)
  return form
}

function isInQuery({ method, query = {}, body = {}, reply }: AnyEndpoint, name: string): boolean {
  if (name in body) return false
  const paging = { page: ['limit', 'cursor'], results: ['limit', 'offset'] }[reply.kind as string] ?? []
  return method === 'GET' || name in query || paging.includes(name)
}

async function answerOf(
  endpoint: AnyEndpoint,
  input: Record<string, unknown>,
  more: More,
  call: SendCall,
): Promise<unknown> {
  const response = await call(endpoint, input, more)
  switch (endpoint.reply.kind) {
    case 'one':
      return ((await json(response)) as { data: unknown }).data
    case 'operation': {
      const { data } = (await json(response)) as { data: Record<string, unknown> }
      return response.status === 202 ? ({ operation: data } satisfies Background) : data
    }
    case 'page': {
      const body = await json(response)
      if (endpoint.reply.or !== undefined && !isPage(body)) return (body as { data: unknown }).data
      const first = pageIn(body)
      const after = (cursor: string) => call(endpoint, { ...input, cursor }, more)
      return { ...first, all: { [Symbol.asyncIterator]: () => rowsFrom(first, after) } } satisfies Listing<unknown>
    }
    case 'results':
    case 'deleted':
      return json(response)
    case 'stream':
      return readEvents(response.bytes()) satisfies AsyncIterable<Received>
    case 'bytes':
      return { header: response.header, body: response.bytes() } satisfies File
    case 'none':
      return undefined
  }
}

const json = async (incoming: Incoming): Promise<unknown> => JSON.parse(await incoming.text())

interface Wire {
  data: unknown[]
  pagination: { has_more: boolean; next_cursor: string | null }
}

/** A list endpoint may return a single object if its query asks for that view. */
export const isPage = (json: unknown): boolean => Array.isArray((json as Wire).data)

export function pageIn(json: unknown): Page<unknown> {
  const { data, pagination, ...extra } = json as Wire
  return { rows: data, next: pagination.next_cursor, extra }
}

async function* rowsFrom(first: Page<unknown>, after: (cursor: string) => Promise<Incoming>): AsyncGenerator {
  for (let page = first; ; page = pageIn(await json(await after(page.next)))) {
    yield* page.rows
    if (page.next === null) return
  }
}

/** Chunks of a body: not every browser can iterate a stream. */
export async function* partsOf(response: Response): AsyncGenerator<Uint8Array> {
  if (response.body === null) return
  const reader = response.body.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel().catch(() => {})
  }
}
