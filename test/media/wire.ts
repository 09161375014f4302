import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { addressPolicy } from '#packages/http-client/address.ts'
import { createOutbound } from '#packages/http-client/outbound.ts'
import { MediaFault, type MediaInput, type MediaWire, type WireAnswer } from '#gateway/media/adapter.ts'
import type { ProviderEndpoint, Shape } from '#gateway/model/offer.ts'
import { takesKey } from '#gateway/providers/takes-key.ts'
import { upstreamOf } from '#gateway/providers/upstream.ts'
import { readFault } from '#gateway/wire/faults/faults.ts'
import { newId } from '#core/ids.ts'

/** A request as a vendor got it. */
export interface Got {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: Buffer
}

export const SECRET = 'secret-of-the-test'

/** A vendor on loopback, which answers by this function and remembers what it was asked. */
export async function vendorAt(answer: (got: Got, response: ServerResponse, origin: string) => void | Promise<void>) {
  const got: Got[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { pathname, searchParams } = new URL(request.url!, 'http://vendor')
    const one = {
      method: request.method!,
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body: Buffer.concat(pieces),
    }
    got.push(one)
    await answer(one, response, origin)
  }
  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    got,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

export const json = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

export const endpointAt = (baseUrl: string, shape: Shape, more: Partial<ProviderEndpoint> = {}): ProviderEndpoint => ({
  id: newId(),
  slug: 'vendor',
  name: 'Vendor',
  shape,
  baseUrl,
  apiKey: SECRET,
  headers: {},
  billing: 'byok',
  priority: 0,
  weight: 1,
  preset: null,
  mayBePrivate: true,
  ...more,
})

/** A file of media in memory, as a request brings one. */
export const inputOf = (bytes: Buffer, type: string, name: string): MediaInput => ({
  kind: type.startsWith('audio/') ? 'audio' : type.startsWith('video/') ? 'video' : 'image',
  type,
  extension: name.split('.').at(-1)!,
  sizeBytes: bytes.length,
  width: null,
  height: null,
  durationSeconds: null,
  name,
  async *read() {
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
  },
})

/** The way to one endpoint over the real outbound client. */
export function wireTo(endpoint: ProviderEndpoint): MediaWire & AsyncDisposable {
  const outbound = createOutbound(addressPolicy([]))
  const upstream = upstreamOf(endpoint)
  const { signal } = new AbortController()
  const send = async (
    url: URL,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    headers: readonly string[],
    body: Buffer | null,
  ): Promise<WireAnswer> => {
    const { promise, resolve, reject } = Promise.withResolvers<WireAnswer>()
    const pieces: Buffer[] = []
    let status = 0
    let plain: Record<string, string> = {}
    outbound.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers,
        body,
        mayBePrivate: true,
        credential: 'x',
        party: 'x',
      },
      {
        onRequestStart() {},
        onResponseStart(_, code, given) {
          status = code
          plain = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))
        },
        onResponseData: (_, piece) => void pieces.push(Buffer.from(piece)),
        onResponseEnd: () => resolve({ status, headers: plain, body: readable(pieces) }),
        onResponseError: (_, error) => reject(error),
      },
    )
    return promise
  }
  return {
    signal,
    async ask({ method, path, headers = {}, body = null }) {
      const url = new URL(path.startsWith('/') ? upstream.origin + upstream.base + path : path)
      if (!takesKey(endpoint, url)) throw new MediaFault('bad_answer', 'another server')
      const all = new Map<string, string>()
      for (let at = 0; at < upstream.headers.length; at += 2) all.set(upstream.headers[at]!, upstream.headers[at + 1]!)
      for (const [name, value] of Object.entries(headers)) all.set(name, value)
      const whole = body === null ? null : body instanceof Uint8Array ? Buffer.from(body) : await gathered(body)
      const answer = await send(url, method, [...all].flat(), whole)
      if (answer.status < 300) return answer
      const { kind, message } = readFault(answer.status, answer.headers, (await bytesOf(answer.body)).toString())
      throw new MediaFault(kind === 'upstream_key' ? 'credential' : 'bad_request', message, { sent: false })
    },
    async *download(address) {
      const url = new URL(address)
      const answer = await send(url, 'GET', takesKey(endpoint, url) ? upstream.headers : [], null)
      if (answer.status !== 200)
        throw new MediaFault('bad_answer', `The result couldn’t be downloaded: ${answer.status}.`)
      yield* answer.body
    },
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  }
}

async function gathered({ bytes, length }: { bytes: AsyncIterable<Uint8Array>; length: number }): Promise<Buffer> {
  const whole = await bytesOf(bytes)
  if (whole.length !== length) throw new Error(`a body of ${whole.length} bytes was announced as ${length}`)
  return whole
}

async function* readable(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

export async function bytesOf(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces)
}
