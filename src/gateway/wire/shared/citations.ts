import type { Citation } from '../../model/canonical-request.ts'
import { compact, type Json, objectOf, textOf } from '../../model/json.ts'

const place = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null

/**
 * Nested as in Chat Completions or flat as in Responses. `from` is the offset of the text in the whole response. Null
 * for other types and for citations without a URL.
 */
export function readUrlCitation(value: unknown, from = 0): Citation | null {
  const annotation = objectOf(value)
  if (annotation['type'] !== 'url_citation') return null
  const inner = annotation['url_citation']
  const source = inner === undefined ? annotation : objectOf(inner)
  const url = textOf(source['url'])
  if (url === '') return null
  const start = place(source['start_index'])
  const end = place(source['end_index'])
  return compact({
    url,
    title: textOf(source['title']) || undefined,
    quote: textOf(source['content']) || undefined,
    start: start === null ? from : from + start,
    end: end === null ? from : from + end,
  })
}

/** Returns null without a URL: OpenAI's clients have no place for other citations. */
export const writeUrlCitation = ({ url, title, start, end }: Citation, from = 0): Json | null =>
  url === undefined
    ? null
    : { url, title: title ?? url, start_index: Math.max(0, start - from), end_index: Math.max(0, end - from) }

export function readBlockCitation(value: unknown, start: number, end: number): Citation {
  const native = objectOf(value)
  const source = textOf(native['url']) || textOf(native['source'])
  return compact({
    url: /^https?:/.test(source) ? source : undefined,
    title: textOf(native['title']) || textOf(native['document_title']) || undefined,
    quote: textOf(native['cited_text']) || undefined,
    start,
    end,
    native,
  })
}

/** Returns null for another vendor's citation without a URL. */
export const writeBlockCitation = ({ url, title, quote, native }: Citation): Json | null =>
  native ??
  (url === undefined
    ? null
    : { type: 'web_search_result_location', url, title: title ?? null, cited_text: quote ?? '', encrypted_index: '' })
