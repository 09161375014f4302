import { shorten } from '#core/text/shorten.ts'

/** The kinds that documents are read as. */
export type DocumentKind = 'html' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'text'

export interface DocumentInput {
  kind: DocumentKind
  bytes: Uint8Array
  /** The address it was found at: relative links become absolute, and some sites are read by rules of their own. */
  url?: string
  /** The character set that the sender named. A byte order mark counts more than it, a page's own word less. */
  charset?: string
}

/** The words of a document, as Markdown where it has a structure, else as plain text. */
export interface DocumentText {
  text: string
  title: string | null
  description: string | null
  author: string | null
  site: string | null
  language: string | null
  published: string | null
  /** Pages, sheets or slides; null for what has none. */
  parts: number | null
  /** The document held more than may be read of one. */
  truncated: boolean
  /** Text that a person sees is missing: all of it (a scan), or of some pages. */
  missing: 'no_text' | 'incomplete' | null
}

export const plainRead = (text: string, more: Partial<DocumentText> = {}): DocumentText => ({
  text,
  title: null,
  description: null,
  author: null,
  site: null,
  language: null,
  published: null,
  parts: null,
  truncated: false,
  missing: null,
  ...more,
})

/** Why a document could not be read; the sentence is safe to show. */
export type UnreadableReason = 'damaged' | 'encrypted' | 'too_large' | 'too_slow' | 'busy' | 'binary'

export class Unreadable extends Error {
  override name = 'Unreadable'
  readonly reason: UnreadableReason
  constructor(reason: UnreadableReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Characters of text that are kept of one document. */
export const MOST_TEXT = 8_000_000

export const clip = (text: string): { text: string; truncated: boolean } =>
  text.length <= MOST_TEXT ? { text, truncated: false } : { text: shorten(text, MOST_TEXT), truncated: true }

/** The kind that a content type or a file name stands for, or null for what holds no text that can be read. */
export function kindOf(type: string | null, name: string): DocumentKind | null {
  const media = type?.split(';')[0]!.trim().toLowerCase() ?? ''
  const kind = byType[media]
  if (kind) return kind
  const ending = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]!.toLowerCase()
  if (ending !== undefined && ending in byEnding) return byEnding[ending]!
  if (/^text\/|[+/](json|xml|yaml|toml|javascript|typescript|sql|ndjson)$/.test(media)) return 'text'
  return null
}

const office = 'application/vnd.openxmlformats-officedocument'
const byType: Record<string, DocumentKind> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  [`${office}.wordprocessingml.document`]: 'docx',
  [`${office}.spreadsheetml.sheet`]: 'xlsx',
  [`${office}.presentationml.presentation`]: 'pptx',
}
const byEnding: Record<string, DocumentKind> = {
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
  xlsx: 'xlsx',
  pptx: 'pptx',
}

/**
 * Counts up when documents or encodings are read better: what an older reader read, or gave up, is read again when it's
 * needed next.
 */
export const READER_VERSION = 2
