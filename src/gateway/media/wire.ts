import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Send } from '#packages/http-client/send.ts'
import { newId } from '#core/ids.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import { dispatch } from '../providers/dispatch.ts'
import { takesKey } from '../providers/takes-key.ts'
import { type Upstream, upstreamOf } from '../providers/upstream.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'
import { MediaFault, type MediaWire, type WireAnswer } from './adapter.ts'
import { badAnswer } from './answers.ts'
import { ExchangeBroke, exchange } from './exchange.ts'
import { brokenOff, faultOf } from './fault.ts'
import { retryAfter } from '../wire/faults/faults.ts'
import { leadsUp } from '../wire/path-name.ts'
import { compressionIn } from '../wire/unreadable.ts'

const ERROR_BYTES = 256 << 10
/** Maximum bytes of a request body that a transport must wrap as a whole. */
const WHOLE_BYTES = 64 << 20
const DOWNLOAD_MS = 600_000
const MAX_HOPS = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export interface MediaWireOptions {
  outbound: Outbound
  endpoint: ProviderEndpoint
  model: string
  party: string
  signal: AbortSignal
  place: AnswerPlace
}

type WireRequest = Parameters<MediaWire['ask']>[0]
type PlacedAnswer = Awaited<ReturnType<MediaWire['ask']>>

export const mediaWire = (options: MediaWireOptions): MediaWire => new EndpointWire(options)

class EndpointWire implements MediaWire {
  readonly signal: AbortSignal
  readonly #options: MediaWireOptions
  readonly #upstream: Upstream
  readonly #base: URL

  constructor(options: MediaWireOptions) {
    this.#options = options
    this.signal = options.signal
    const upstream = upstreamOf(options.endpoint)
    this.#upstream = upstream
    this.#base = new URL(upstream.base === '' ? '/' : upstream.base, upstream.origin)
  }

  async ask({ method, path, headers = {}, body = null, mostBytes, withinMs }: WireRequest): Promise<PlacedAnswer> {
    const upstream = this.#upstream
    const { endpoint, party, place } = this.#options
    const url = addressOf(path, this.#base, endpoint)
    const send: Send = {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: headersOf(upstream, headers, body !== null),
      body: null,
      mayBePrivate: upstream.mayBePrivate && url.origin === upstream.origin,
      credential: upstream.credential,
      // A request that must not be repeated gets a new connection: on an idle one the other side may have just
      // closed, so it would be unclear whether the request arrived.
      party: method === 'GET' ? party : `${party} ${newId()}`,
      withinMs,
    }
    const answer = await this.#answerTo(await withBody(send, body, upstream), url, mostBytes)
    const compression = compressionIn(answer.headers)
    if (compression !== null) {
      await drop(answer)
      throw answer.status < 300 ? badAnswer(compression) : faultOf(answer.status, answer.headers, compression, endpoint)
    }
    if (answer.status < 300) return { ...answer, place }
    throw faultOf(answer.status, answer.headers, await textOf(answer), endpoint)
  }

  async #answerTo(send: Send, url: URL, mostBytes: number): Promise<WireAnswer> {
    const request = { model: this.#options.model, stream: false }
    try {
      const answer = await exchange(
        (handler) => dispatch(this.#options.outbound, this.#upstream, send, request, handler),
        {
          mostBytes,
          signal: this.signal,
        },
      )
      return { ...answer, body: this.#explaining(answer.body, url) }
    } catch (error) {
      throw this.#translateError(error, url)
    }
  }

  /** A disconnected caller isn't the provider's fault. */
  #translateError(error: unknown, url: URL): unknown {
    if (this.signal.aborted) return this.signal.reason
    return error instanceof ExchangeBroke ? brokenOff(error, url) : error
  }

  async *#explaining(body: AsyncIterable<Uint8Array>, url: URL): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (error) {
      throw this.#translateError(error, url)
    }
  }

  async *download(address: string, mostBytes: number): AsyncGenerator<Uint8Array> {
    const upstream = this.#upstream
    const { endpoint } = this.#options
    let url = URL.parse(address)
    for (let hop = 0; ; hop++) {
      if (url === null || !/^https?:$/.test(url.protocol))
        throw new MediaFault('bad_answer', 'The provider’s result isn’t at an http or https URL.')
      const own = takesKey(endpoint, url)
      const send: Send = {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        headers: own ? headersOf(upstream, {}, false) : ['accept-encoding', 'identity'],
        body: null,
        mayBePrivate: upstream.mayBePrivate && url.origin === upstream.origin,
        credential: own ? upstream.credential : '',
        party: this.#options.party,
        withinMs: DOWNLOAD_MS,
      }
      const answer = await this.#fetchFile(send, url, mostBytes, own)
      const next = REDIRECTS.has(answer.status) ? answer.headers['location'] : undefined
      if (next !== undefined && hop < MAX_HOPS) {
        await drop(answer)
        url = URL.parse(next, url.href)
        continue
      }
      if (answer.status !== 200) throw await downloadFault(answer)
      const compression = compressionIn(answer.headers)
      if (compression !== null) {
        await drop(answer)
        throw badAnswer(compression)
      }
      return yield* answer.body
    }
  }

  async #fetchFile(send: Send, url: URL, mostBytes: number, own: boolean): Promise<WireAnswer> {
    if (own) return await this.#answerTo(send, url, mostBytes)
    try {
      const answer = await exchange((handler) => this.#options.outbound.dispatch(send, handler), {
        mostBytes,
        signal: this.signal,
      })
      return { ...answer, body: this.#explaining(answer.body, url) }
    } catch (error) {
      throw this.#translateError(error, url)
    }
  }
}

/** The URL may contain a key, so it isn't named. */
async function downloadFault(answer: WireAnswer): Promise<MediaFault> {
  await drop(answer)
  const { status } = answer
  const isGone = status === 403 || status === 404 || status === 410
  return new MediaFault(
    'bad_answer',
    isGone
      ? 'The URL of the result has expired.'
      : `The result couldn’t be downloaded. Its server returned status ${status}.`,
    status >= 500 || status === 429 ? { status, retryAfterSeconds: retryAfter(answer.headers) } : {},
  )
}

async function drop({ body }: WireAnswer): Promise<void> {
  await body[Symbol.asyncIterator]().return?.()
}

async function textOf({ body }: WireAnswer): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of body) {
      parts.push(part)
      if ((size += part.length) > ERROR_BYTES) break
    }
  } catch {
    // The status is enough.
  }
  return Buffer.concat(parts).toString()
}

/** Resolves a path below the endpoint's own address, or a URL that may receive its key. Nothing else is allowed. */
function addressOf(path: string, base: URL, endpoint: ProviderEndpoint): URL {
  // Second line of defense; a full URL from the vendor is checked by its origin instead.
  if (path.startsWith('/') && leadsUp(path))
    throw new MediaFault('bad_request', 'A name in this request would lead to a different path at the provider.', {
      sent: false,
    })
  const url = path.startsWith('/') ? URL.parse(base.origin + base.pathname.replace(/\/$/, '') + path) : URL.parse(path)
  if (url === null || !takesKey(endpoint, url))
    throw new MediaFault('bad_answer', 'The provider returned a URL on a different server.')
  return url
}

function headersOf(upstream: Upstream, more: Readonly<Record<string, string>>, hasBody: boolean): string[] {
  const headers = new Map<string, string>()
  for (let i = 0; i < upstream.headers.length; i += 2) headers.set(upstream.headers[i]!, upstream.headers[i + 1]!)
  for (const name in more) headers.set(name.toLowerCase(), more[name]!)
  if (!hasBody) headers.delete('content-type')
  return [...headers].flat()
}

type Body = Parameters<MediaWire['ask']>[0]['body']

async function withBody(send: Send, body: Body, upstream: Upstream): Promise<Send> {
  if (body === null || body === undefined) return send
  if (body instanceof Uint8Array) return { ...send, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }
  // Signed, wrapped, or sent through a computer's connection: the body is needed as a whole.
  if (upstream.transport === null && upstream.dispatch === null) return { ...send, streamed: body }
  if (body.length > WHOLE_BYTES)
    throw new MediaFault('bad_request', `This provider accepts up to ${WHOLE_BYTES >> 20} MiB at once.`, {
      sent: false,
    })
  const parts: Uint8Array[] = []
  for await (const part of body.bytes) parts.push(Buffer.from(part))
  return { ...send, body: Buffer.concat(parts) }
}
