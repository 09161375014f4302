import type { IncomingMessage } from 'node:http'
import { Refusal } from '#core/errors.ts'
import { accepts, qualityOf } from '#core/text/accept.ts'

/** Never JSON, because a page may have requested a script. */
export function saidTo({ headers }: IncomingMessage, error: unknown): { status: number; head: string[]; body: string } {
  const { status, message } = error instanceof Refusal ? error : new Refusal('internal_error')
  // Programs accept anything. Browsers name HTML or prefer it to plain text.
  const html =
    qualityOf(headers.accept, 'text/html') > qualityOf(headers.accept, 'text/plain') || namesHtml(headers.accept)
  const body = html
    ? `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status}</title><p>${escaped(message)}</p>\n`
    : `${message}\n`
  const head = [
    'Content-Type',
    `text/${html ? 'html' : 'plain'}; charset=utf-8`,
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
    'Content-Security-Policy',
    "default-src 'none'",
    'X-Content-Type-Options',
    'nosniff',
  ]
  return { status, head, body }
}

const namesHtml = (accept = ''): boolean => /\btext\/html\b/i.test(accept) && accepts(accept, 'text/html')

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!)
