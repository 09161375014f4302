import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import type { Outbound } from './outbound.ts'
import type { Send, ExchangeOwner } from './send.ts'

export interface RetrieveRequest extends ExchangeOwner {
  url: URL
  method?: 'GET' | 'POST' | 'DELETE'
  /** Name, value, name, value. Sent to every hop, so include no keys unless `hops` is 0. */
  headers?: string[]
  body?: Buffer
  mayBePrivate?: boolean
  /** Maximum body bytes, encoded and decoded. */
  mostBytes: number
  timeoutMs: number
  hops: number
  before?(url: URL): Promise<void>
  signal?: AbortSignal
}

export interface RetrieveResult {
  url: URL
  status: number
  /** Lower-case names. */
  headers: Record<string, string>
  bytes: Buffer
}

/** The other server failed. The message is safe to show. */
export class RetrieveFailed extends Error {
  override name = 'RetrieveFailed'
  readonly why: 'refused' | 'unreachable' | 'too_slow' | 'too_large' | 'lost' | 'garbled'
  constructor(why: RetrieveFailed['why'], message: string) {
    super(message)
    this.why = why
  }
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Fetches one resource, following redirects. Every hop goes through `outbound`, which checks the address. */
export async function retrieve(
  outbound: Pick<Outbound, 'dispatch'>,
  request: RetrieveRequest,
): Promise<RetrieveResult> {
  const until = performance.now() + request.timeoutMs
  let url = request.url
  let method = request.method ?? 'GET'
  for (let hop = 0; ; hop++) {
    if (!/^https?:$/.test(url.protocol)) throw new RetrieveFailed('refused', 'Only http and https URLs can be fetched.')
    await request.before?.(url)
    const remainingMs = until - performance.now()
    if (remainingMs <= 0) throw tooSlow(request)
    const answer = await exchange(outbound, request, url, method, remainingMs)
    const location = redirects.has(answer.status) ? answer.headers.location : undefined
    if (location === undefined) return { ...answer, url, bytes: await decodeBody(answer, request.mostBytes) }
    if (hop >= request.hops) throw new RetrieveFailed('lost', `It redirects more than ${request.hops} times.`)
    const next = URL.parse(location, url.href)
    if (next === null) throw new RetrieveFailed('garbled', 'It redirects to an invalid URL.')
    if (answer.status === 303 || (method === 'POST' && answer.status < 303)) method = 'GET'
    url = next
  }
}

type Answer = Pick<RetrieveResult, 'status' | 'headers' | 'bytes'>

function exchange(
  outbound: Pick<Outbound, 'dispatch'>,
  request: RetrieveRequest,
  url: URL,
  method: 'GET' | 'POST' | 'DELETE',
  timeMs: number,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const pieces: Buffer[] = []
  let size = 0
  let answer: Omit<Answer, 'bytes'> = { status: 0, headers: {} }
  let stopReason: Error | null = null
  let stop = (error: Error): void => {
    stopReason = error
    reject(error)
  }
  const timer = setTimeout(() => stop(tooSlow(request)), timeMs)
  const leave = (): void => stop(request.signal!.reason as Error)
  if (request.signal?.aborted) leave()
  request.signal?.addEventListener('abort', leave, { once: true })
  const send: Send = {
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: ['accept-encoding', 'gzip, deflate, br', ...(request.headers ?? [])],
    body: method === 'POST' ? (request.body ?? null) : null,
    ...(request.mayBePrivate && { mayBePrivate: true }),
    credential: request.credential,
    party: request.party,
    withinMs: timeMs,
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      if (stopReason !== null) return controller.abort(stopReason)
      stop = (error) => {
        reject(error)
        controller.abort(error)
      }
    },
    onResponseStart(_, status, headers) {
      answer = { status, headers: plain(headers) }
    },
    onResponseData(_, piece) {
      size += piece.length
      if (size > request.mostBytes) stop(tooLarge(request.mostBytes))
      else pieces.push(piece)
    },
    onResponseEnd: () => resolve({ ...answer, bytes: Buffer.concat(pieces) }),
    onResponseError: (_, error) => reject(explainError(error, url)),
  }
  outbound.dispatch(send, handler)
  return promise.finally(() => {
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', leave)
  })
}

const plain = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value[0]! : value]],
    ),
  )

const unpackers = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** The HTTP client doesn't decode, so that the limit also applies to decoded bytes. */
async function decodeBody({ headers, bytes }: Answer, most: number): Promise<Buffer> {
  const coding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (coding === 'identity' || coding === '' || bytes.length === 0) return bytes
  const unpack = unpackers[coding as keyof typeof unpackers]
  if (unpack === undefined)
    throw new RetrieveFailed(
      'garbled',
      `The response uses the encoding ${coding.slice(0, 40)}, which wasn’t requested.`,
    )
  try {
    return await unpack(bytes, { maxOutputLength: most })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(most)
    throw new RetrieveFailed('garbled', 'The compressed response is damaged.')
  }
}

const tooSlow = ({ timeoutMs }: RetrieveRequest) =>
  new RetrieveFailed('too_slow', `The response didn’t complete within ${timeoutMs / 1000} s.`)
const tooLarge = (most: number) => new RetrieveFailed('too_large', `The response is larger than ${most} bytes.`)

const reasons: Record<string, string> = {
  ECONNREFUSED: 'No server is listening at this address.',
  ECONNRESET: 'The server closed the connection.',
  ENOTFOUND: 'The host name doesn’t exist.',
  EAI_AGAIN: 'The host name can’t be resolved right now.',
  EHOSTUNREACH: 'The host can’t be reached.',
  ENETUNREACH: 'The host’s network can’t be reached.',
  UK_CONNECTION_CLOSED: 'The server closed the connection.',
  UK_ANSWER_TOO_LARGE: 'The server’s response is too large.',
  UK_NO_HTTP: 'The server’s response isn’t valid HTTP.',
}

export function explainError(error: Error, url: URL): Error {
  if (error instanceof RetrieveFailed) return error
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UK_ADDRESS_REFUSED')
    return new RetrieveFailed('refused', `${url.hostname} resolves to a private or reserved address.`)
  if (/TIMEOUT/.test(code)) return new RetrieveFailed('too_slow', 'The server didn’t respond in time.')
  if (/CERT|SSL|TLS/.test(code))
    return new RetrieveFailed('unreachable', `The server’s TLS certificate isn’t trusted (${code}).`)
  return new RetrieveFailed(
    'unreachable',
    reasons[code] ?? `The server can’t be reached${/^[A-Z_]{3,40}$/.test(code) ? ` (${code})` : ''}.`,
  )
}
