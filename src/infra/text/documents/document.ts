import { shorten } from '#core/text/shorten.ts'

export type DocumentKind = 'html' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'text'

export interface DocumentInput {
  kind: DocumentKind
  bytes: Uint8Array
  /** The document's URL: makes relative links absolute and selects site-specific rules. */
  url?: string
  /** Declared by the sender. A byte order mark overrides it; it overrides the page's own declaration. */
  charset?: string
}

export interface DocumentText {
  text: string
  title: string | null
  description: string | null
  author: string | null
  site: string | null
  language: string | null
  published: string | null
  parts: number | null
  /** Content above the limits was dropped. */
  truncated: boolean
  /** Visible text is missing: all of it (a scan), or on some pages. */
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

/** Why a document couldn't be read. The message is safe to show. */
export type UnreadableReason = 'damaged' | 'encrypted' | 'too_large' | 'too_slow' | 'busy' | 'binary'

export class Unreadable extends Error {
  override name = 'Unreadable'
  readonly reason: UnreadableReason
  constructor(reason: UnreadableReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export const MAX_TEXT = 8_000_000

export const clip = (text: string): { text: string; truncated: boolean } =>
  text.length <= MAX_TEXT ? { text, truncated: false } : { text: shorten(text, MAX_TEXT), truncated: true }

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

/** Increment when reading improves: documents read or failed with an older version are read again on demand. */
export const READER_VERSION = 2
