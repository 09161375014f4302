import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import { type DocumentText, Unreadable, plainRead, kindOf } from '#infra/text/documents/document.ts'
import { readDocument } from '#infra/text/documents/read.ts'
import { looksBinary } from '#infra/text/documents/text.ts'
import { RetrieveFailed, type RetrieveResult, retrieve } from '#packages/http-client/retrieve.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import type { WebPage } from './contract.ts'
import { type Robots, USER_AGENT } from './robots.ts'

const MAX_BYTES = 10 << 20
const TIMEOUT_MS = 30_000
const HOPS = 10

export async function fetchPage(
  ctx: Context,
  robots: Robots,
  { url, offset, max_characters }: { url: string; offset: number; max_characters: number },
): Promise<z.output<typeof WebPage>> {
  const asked = new URL(url)
  if (asked.username !== '' || asked.password !== '')
    refuse('invalid_parameter', { param: 'url', message: 'The URL can’t include a user name or password.' })
  asked.hash = ''
  const page = await reach(ctx, robots, asked)
  if (page.status >= 400)
    refuse('upstream_error', {
      message: `The page returned status ${page.status}.`,
      details: { status: page.status, url: page.url.href },
    })
  const type = page.headers['content-type'] ?? null
  const read = await readPage(ctx, page, type)
  const end = whole(read.text, offset + max_characters)
  const begin = whole(read.text, Math.min(offset, read.text.length))
  return {
    id: newId(),
    created_at: iso(ctx.now()),
    url,
    final_url: page.url.href,
    status: page.status,
    content_type: type,
    title: read.title,
    description: read.description,
    author: read.author,
    site: read.site,
    language: read.language,
    published_at: read.published,
    markdown: read.text.slice(begin, end),
    total_characters: read.text.length,
    offset,
    truncated: read.truncated || end < read.text.length,
    size_bytes: page.bytes.length,
    pages: read.parts,
  }
}

/** Returns a cut position that doesn't split a surrogate pair. */
const whole = (text: string, at: number): number =>
  at < text.length && /[\uDC00-\uDFFF]/.test(text[at]!) && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') ? at - 1 : at

async function reach(ctx: Context, robots: Robots, url: URL): Promise<RetrieveResult> {
  try {
    return await retrieve(ctx.engine.outside, {
      url,
      headers: [
        'user-agent',
        USER_AGENT,
        'accept',
        'text/markdown, text/html;q=0.9, application/pdf;q=0.8, text/*;q=0.7, */*;q=0.1',
      ],
      mostBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      hops: HOPS,
      credential: '',
      party: ctx.principal.accountId,
      signal: ctx.signal,
      async before(hop) {
        if (await robots.allows(hop, ctx.signal)) return
        refuse('policy_denied', {
          param: 'url',
          message: `The robots.txt of ${hop.host} doesn’t allow fetching this page.`,
          details: { reason: 'robots', url: hop.href },
        })
      },
    })
  } catch (error) {
    if (!(error instanceof RetrieveFailed)) throw error
    const { why, message } = error
    if (why === 'refused')
      return refuse('policy_denied', {
        param: 'url',
        message: `${message} The page wasn’t fetched.`,
        details: { reason: 'address' },
      })
    return refuse(why === 'too_slow' ? 'timeout' : 'upstream_error', { message, details: { reason: why } })
  }
}

async function readPage(ctx: Context, { url, bytes }: RetrieveResult, type: string | null): Promise<DocumentText> {
  if (bytes.length === 0) return plainRead('')
  const charset = /charset\s*=\s*"?([\w:.-]+)/i.exec(type ?? '')?.[1]
  // Download servers often report only a generic type.
  const untold = type === null || /octet-stream/.test(type)
  const kind =
    kindOf(type, untold ? url.pathname : '') ??
    (untold && bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))
      ? 'pdf'
      : type === null && !looksBinary(bytes)
        ? 'text'
        : null)
  if (kind === null)
    return refuse('unsupported_media_type', {
      message: `The content is ${type ?? 'binary data'}. Only HTML, PDF, Office documents and text can be converted to Markdown.`,
      details: { content_type: type },
    })
  try {
    return await readDocument(ctx.engine, {
      account: ctx.principal.accountId,
      kind,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      load: () => ({ kind, bytes, url: url.href, ...(charset !== undefined && { charset }) }),
      signal: ctx.signal,
    })
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return error.reason === 'busy'
      ? refuse('unavailable', { message: error.message, headers: { 'retry-after': '5' } })
      : refuse('upstream_error', {
          message: `The page can’t be read. ${error.message}`,
          details: { reason: error.reason },
        })
  }
}
