import type { Outbound } from '#packages/http-client/outbound.ts'
import { idsWhere } from '../providers/every-provider.ts'
import { RetrieveFailed, type RetrieveRequest, retrieve } from '#packages/http-client/retrieve.ts'
import type { Id } from '#core/ids.ts'
import { type Body, mention } from '../model/body.ts'
import { isObject } from '../model/json.ts'
import type { Offer, ProviderEndpoint } from '../model/offer.ts'
import { asItIs, fieldOf, kindOf, typeOf } from '../wire/shared/media.ts'
import type { MediaSource, CanonicalRequest, CanonicalPart, UpstreamFault } from '../model/canonical-request.ts'
import { shorten } from '#core/text/shorten.ts'

type Media = Extract<CanonicalPart, { type: 'image' | 'file' }>

/** Vendors' limit for one image (compat.md 7.1), and for everything fetched for one request. */
const LARGEST = 5 << 20
const MAX_BYTES = 20 << 20
const MAX = 20
const TIMEOUT_MS = 15_000
const HOPS = 3

const fetching = idsWhere((provider) => provider.fetchesNothing)

/**
 * Providers that fetch no URLs, and Ollama (docs.ollama.com, OpenAI compatibility: base64 only). Gemini reads its own
 * files and known videos, and rejects most others.
 */
const fetchesNothing = ({ preset, shape }: ProviderEndpoint): boolean =>
  fetching.has(preset) || shape === 'gemini' || shape === 'ollama'

export const namesAddress = (body: Body, endpoint: ProviderEndpoint): boolean =>
  fetchesNothing(endpoint) && body.mentions(mention.addressed) && holdsAddress(body.json)

function holdsAddress(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsAddress)
  if (!isObject(value)) return false
  const { type, url } = value
  return type === 'url' || (typeof url === 'string' && /^https?:/i.test(url)) || Object.values(value).some(holdsAddress)
}

const geminiHosts =
  /^(?:generativelanguage\.googleapis\.com|storage\.googleapis\.com|(?:www\.)?youtube\.com|youtu\.be)$/

const isElsewhere = (
  source: MediaSource,
  { shape }: ProviderEndpoint,
): source is Extract<MediaSource, { kind: 'url' }> =>
  source.kind === 'url' && !(shape === 'gemini' && geminiHosts.test(URL.parse(source.url)?.hostname ?? ''))

export const needsFetching = (canonical: CanonicalRequest, { endpoint }: Offer): boolean => {
  let isFound = false
  if (fetchesNothing(endpoint)) eachMedia(canonical, ({ source }) => void (isFound ||= isElsewhere(source, endpoint)))
  return isFound
}

/** The sender's declared type doesn't count. */
export function withKinds(canonical: CanonicalRequest): CanonicalRequest {
  let any = false
  eachMedia(canonical, () => void (any = true))
  return any ? mapMedia(canonical, (part) => asItIs(part)) : canonical
}

export const withStandIns = (canonical: CanonicalRequest, { endpoint }: Offer): CanonicalRequest =>
  mapMedia(canonical, (part) =>
    isElsewhere(part.source, endpoint)
      ? { ...part, source: { kind: 'base64', media_type: usual[part.type], data: 'AA==' } }
      : part,
  )

const usual = { image: 'image/png', file: 'application/pdf' } as const

export async function fetchMedia(
  canonical: CanonicalRequest,
  { endpoint }: Offer,
  outside: Outbound,
  party: Id,
  signal: AbortSignal,
): Promise<CanonicalRequest | UpstreamFault> {
  const typesByUrl = new Map<string, Media['type']>()
  eachMedia(canonical, ({ type, source }) => {
    if (isElsewhere(source, endpoint)) typesByUrl.set(source.url, type)
  })
  if (typesByUrl.size > MAX) return unread(`a request can have up to ${MAX} URLs to download`)
  const sourcesByUrl = new Map<string, MediaSource>()
  let remainingBytes = MAX_BYTES
  const until = performance.now() + TIMEOUT_MS
  for (const [url, type] of typesByUrl) {
    const bounds = {
      mostBytes: Math.max(1, Math.min(remainingBytes, LARGEST)),
      timeoutMs: Math.max(1, until - performance.now()),
    }
    const source = await fetchOne(url, type, outside, { ...bounds, party, signal })
    if (typeof source === 'string') return unread(`${shorten(url, 200)}: ${source}`)
    remainingBytes -= source.data.length
    sourcesByUrl.set(url, source)
  }
  return mapMedia(canonical, (part) =>
    part.source.kind === 'url' ? withBytes(part, sourcesByUrl.get(part.source.url)) : part,
  )
}

function withBytes(part: Media, source: MediaSource | undefined): Media {
  if (source === undefined) return part
  return asItIs({ ...part, source }, fieldOf(part.source))
}

const unread = (why: string): UpstreamFault => ({
  kind: 'bad_request',
  message: `This provider accepts images and files only as bytes, and they couldn’t be downloaded: ${why}`,
  param: 'messages',
})

async function fetchOne(
  address: string,
  type: Media['type'],
  outside: Outbound,
  how: Pick<RetrieveRequest, 'mostBytes' | 'timeoutMs' | 'party' | 'signal'>,
): Promise<Extract<MediaSource, { kind: 'base64' }> | string> {
  const url = URL.parse(address)
  if (url === null) return 'this isn’t a URL.'
  try {
    const { status, headers, bytes } = await retrieve(outside, {
      url,
      headers: [
        'accept',
        type === 'image' ? 'image/*, application/pdf;q=0.5' : 'application/pdf, text/*, image/*;q=0.5',
      ],
      ...how,
      hops: HOPS,
      credential: '',
    })
    if (status !== 200) return `the server returned status ${status}.`
    if (bytes.length === 0) return 'it’s empty.'
    const data = bytes.toString('base64')
    const contentType = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
    const media_type = typeOf({ kind: 'base64', media_type: contentType, data })
    // An HTML page instead of an image means that the image doesn't exist.
    if (type === 'image' ? kindOf(media_type) === 'image' || media_type === 'application/pdf' : TAKEN.test(media_type))
      return { kind: 'base64', media_type, data }
    return `it isn’t ${type === 'image' ? 'an image' : 'a file'}, but ${contentType === '' ? 'of an unknown type' : contentType}.`
  } catch (error) {
    if (error instanceof RetrieveFailed) return error.message
    throw error
  }
}

const TAKEN = /^(?:application|text|image)\//

const isMedia = (part: CanonicalPart): part is Media => part.type === 'image' || part.type === 'file'

function eachMedia({ messages }: CanonicalRequest, look: (part: Media) => void): void {
  const walk = (parts: readonly CanonicalPart[]): void => {
    for (const part of parts)
      if (isMedia(part)) look(part)
      else if (part.type === 'tool_result') walk(part.content)
  }
  for (const { content } of messages) walk(content)
}

function mapMedia(canonical: CanonicalRequest, change: (part: Media) => Media): CanonicalRequest {
  const one = (part: CanonicalPart): CanonicalPart => {
    if (isMedia(part)) return change(part)
    return part.type === 'tool_result' ? { ...part, content: part.content.map(one) } : part
  }
  return {
    ...canonical,
    messages: canonical.messages.map((message) => ({ ...message, content: message.content.map(one) })),
  }
}
