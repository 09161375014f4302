import type { MediaSource } from '../../model/canonical-request.ts'

/** A source from a `data:` or http(s) URL; null where it is neither. */
export function sourceOf(url: string): MediaSource | null {
  const data = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 200))
  if (data) return { kind: 'base64', media_type: data[1] || 'text/plain', data: url.slice(data[0].length) }
  return /^https?:\/\//i.test(url) ? { kind: 'url', url } : null
}

export const urlOf = (source: MediaSource): string =>
  source.kind === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`

/** First base64 characters of the formats that vendors take. */
const magic: readonly [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
]

/** The type that the first bytes show, of those that vendors take; null: none of them. */
export const magicType = (data: string): string | null => magic.find(([start]) => data.startsWith(start))?.[1] ?? null

/** The media type that the bytes show, whatever their sender called them. */
export const imageType = ({ media_type, data }: Extract<MediaSource, { kind: 'base64' }>): string =>
  magicType(data) ?? media_type
