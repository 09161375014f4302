import type { Citation } from '../../model/canonical-request.ts'
import { compact, type Json, objectOf, textOf } from '../../model/json.ts'

const place = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null

/**
 * OpenAI's `url_citation`, nested as chats have it or flat as responses do. `from`: where the text that its places count
 * in begins in the answer's. Null: another kind, or one without an address.
 */
export function readUrlCitation(given: unknown, from = 0): Citation | null {
  const annotation = objectOf(given)
  if (annotation['type'] !== 'url_citation') return null
  const inner = annotation['url_citation']
  const cited = inner === undefined ? annotation : objectOf(inner)
  const url = textOf(cited['url'])
  if (url === '') return null
  const start = place(cited['start_index'])
  const end = place(cited['end_index'])
  return compact({
    url,
    title: textOf(cited['title']) || undefined,
    quote: textOf(cited['content']) || undefined,
    start: start === null ? from : from + start,
    end: end === null ? from : from + end,
  })
}

/** The fields of a `url_citation`; null: it has no address, and OpenAI's clients no place for others. */
export const writeUrlCitation = ({ url, title, start, end }: Citation, from = 0): Json | null =>
  url === undefined
    ? null
    : { url, title: title ?? url, start_index: Math.max(0, start - from), end_index: Math.max(0, end - from) }

/** One of Anthropic's citations, of the text from `start` to `end` of the answer. */
export function readBlockCitation(given: unknown, start: number, end: number): Citation {
  const native = objectOf(given)
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

/** As Anthropic's clients read it; null: nothing of theirs, and no address. */
export const writeBlockCitation = ({ url, title, quote, native }: Citation): Json | null =>
  native ??
  (url === undefined
    ? null
    : { type: 'web_search_result_location', url, title: title ?? null, cited_text: quote ?? '', encrypted_index: '' })
