import { ApiError, ConnectionError, errorOf } from './errors.ts'
import { type ReceivedEvent, readEvents } from './events.ts'
import { type Input, type Route, type Routes, outgoing } from './route.ts'

export interface ClientOptions {
  /** The server's address, such as `https://uk.example.com`. In a browser: `location.origin`. */
  origin: string
  /** An API key, `uk_…`. Without one a browser sends its session cookie. */
  key?: string | undefined
  /** The dated version to speak. Default: the one the key is pinned to. */
  version?: string
  /** Sent with every call. */
  headers?: Record<string, string>
  /** How often a call that may be repeated is tried again. Default: 2. */
  retries?: number
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch
}

export interface CallOptions {
  signal?: AbortSignal
  headers?: Record<string, string>
  retries?: number
  /** Resumes a stream after the event with this ID. */
  lastEventId?: string
}

export interface Page<T> {
  data: T[]
  pagination: { has_more: boolean; next_cursor: string | null }
}

/** `await` returns one page; `for await` iterates over all rows. No request is sent before that. */
export interface PageRequest<T, P = Page<T>> extends PromiseLike<P>, AsyncIterable<T> {}

const LONGEST_WAIT_SECONDS = 30

type Send = (route: Route, input: Input, more: CallOptions) => Promise<Response>

/** The methods of all areas, as listed in the routes table. */
export function clientOf(routes: Routes, options: ClientOptions): object {
  const send = createSend(options)
  const areas = Object.entries(routes).map(([area, verbs]) => {
    const methods = Object.entries(verbs).map(([verb, route]) => [verb, methodOf(route, send, options)] as const)
    return [area, Object.fromEntries(methods)] as const
  })
  return Object.fromEntries(areas)
}

/** Sends a request with retries. Throws `ApiError` for statuses outside 2xx. */
function createSend({ origin, key, version, headers, retries = 2, fetch = globalThis.fetch }: ClientOptions): Send {
  const base = `${origin.replace(/\/+$/, '')}/v1`
  return async (route, input, more) => {
    const { path, body, repeatable, ...call } = outgoing(route, input)
    const init: RequestInit & { duplex?: 'half' } = {
      method: route.method,
      body,
      signal: more.signal ?? null,
      credentials: 'same-origin',
      headers: {
        ...call.headers,
        ...(key === undefined ? { 'x-uk-csrf': '1' } : { authorization: `Bearer ${key}` }),
        ...(version !== undefined && { 'x-service-version': version }),
        ...(more.lastEventId !== undefined && { 'last-event-id': more.lastEventId }),
        ...headers,
        ...more.headers,
      },
      ...(!repeatable && { duplex: 'half' }),
    }
    const most = repeatable ? (more.retries ?? retries) : 0
    for (let tried = 0; ; tried++) {
      const answer = await fetch(base + path, init).catch((error: unknown) => failed(error, more.signal))
      if (!(answer instanceof ConnectionError) && answer.ok) return answer
      const error = answer instanceof ConnectionError ? answer : await errorOf(answer)
      const seconds = waitFor(route, answer, error, tried)
      if (tried >= most || seconds === null) throw error
      await sleep(seconds * 1_000, more.signal)
    }
  }
}

function failed(error: unknown, signal: AbortSignal | undefined): ConnectionError {
  // An aborting caller gets its own reason.
  signal?.throwIfAborted()
  return new ConnectionError('The server couldn’t be reached.', { cause: error })
}

/**
 * Returns the seconds to wait before a retry, or null if a retry could repeat an effect, since the API has no
 * idempotency keys. A 429 has no effect unless it names a failed run; reads are also retried after server errors.
 */
function waitFor(
  { method }: Route,
  answer: Response | ConnectionError,
  error: ConnectionError | ApiError,
  tried: number,
): number | null {
  const reads = method === 'GET'
  // The message that started the run is stored, and a retry would add it twice.
  const begun = error instanceof ApiError && error.details?.['run_id'] !== undefined
  const again =
    answer instanceof ConnectionError
      ? reads
      : reads
        ? answer.status === 429 || answer.status >= 502
        : answer.status === 429 && !begun
  if (!again) return null
  const asked = answer instanceof Response ? Number(answer.headers.get('retry-after') ?? NaN) : NaN
  const seconds = Number.isFinite(asked) ? asked : 0.25 * 2 ** tried * (0.75 + Math.random() / 2)
  return seconds > LONGEST_WAIT_SECONDS ? null : seconds
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = (): void => {
      clearTimeout(timer)
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', over)
      resolve()
    }, ms)
    signal?.addEventListener('abort', over, { once: true })
  })
}

function methodOf(route: Route, send: Send, options: ClientOptions) {
  return (input: Input = {}, more: CallOptions = {}): unknown => {
    if (route.answer === 'page') return pages(route, input, more, send)
    if (route.answer === 'stream') return events(route, input, more, send, more.retries ?? options.retries ?? 2)
    return answerOf(route, send(route, input, more))
  }
}

async function answerOf({ answer }: Route, sent: Promise<Response>): Promise<unknown> {
  const response = await sent
  switch (answer) {
    case 'bytes':
      return response
    case 'none':
      await response.body?.cancel()
      return undefined
    case 'one':
      return ((await response.json()) as { data: unknown }).data
    case 'operation': {
      const { data } = (await response.json()) as { data: unknown }
      return response.status === 202 ? { operation: data } : data
    }
    default:
      return response.json()
  }
}

function pages(route: Route, input: Input, more: CallOptions, send: Send): PageRequest<unknown> {
  const page = async (cursor?: string | null): Promise<Page<unknown>> => {
    const response = await send(route, cursor == null ? input : { ...input, cursor }, more)
    return (await response.json()) as Page<unknown>
  }
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- it is awaited for one page, as it is iterated for all
    then: (done, refused) => page().then(done, refused),
    async *[Symbol.asyncIterator]() {
      for (let next: Page<unknown> | null = await page(); next !== null;) {
        yield* next.data
        const cursor: string | null = next.pagination.next_cursor
        next = cursor === null ? null : await page(cursor)
      }
    },
  }
}

/**
 * A stream that only reads resumes after its last event when the connection is lost. One started by a changing
 * request ends.
 */
async function* events(
  route: Route,
  input: Input,
  more: CallOptions,
  send: Send,
  most: number,
): AsyncGenerator<ReceivedEvent> {
  let lastEventId = more.lastEventId
  for (let cuts = 0; ;) {
    const response = await send(route, input, { ...more, ...(lastEventId !== undefined && { lastEventId }) })
    try {
      for await (const event of readEvents(response.body!)) {
        cuts = 0
        lastEventId = event.id ?? lastEventId
        yield event
      }
      return
    } catch (error) {
      if (route.method !== 'GET' || ++cuts > most) throw failed(error, more.signal)
      more.signal?.throwIfAborted()
      await sleep(250 * 2 ** cuts, more.signal)
    }
  }
}
