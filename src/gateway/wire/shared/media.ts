import { refuse } from '#core/errors.ts'
import type { CanonicalPart, MediaSource, PictureDetail } from '../../model/canonical-request.ts'
import { shorten } from '#core/text/shorten.ts'
import type { Losses } from './losses.ts'
import { string } from './request-fields.ts'

type Bytes = Extract<MediaSource, { kind: 'base64' }>
type Media = Extract<CanonicalPart, { type: 'image' | 'file' }>

/** A source from a `data:` or http(s) URL; null where it is neither. */
export function sourceOf(url: string): MediaSource | null {
  const data = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(url.slice(0, 200))
  if (data) return { kind: 'base64', media_type: data[1] || 'text/plain', data: url.slice(data[0].length) }
  return /^https?:\/\//i.test(url) ? { kind: 'url', url } : null
}

/** A picture's `detail`; an unknown value is named. */
export function detailOf(given: unknown, at: string, losses: Losses): PictureDetail | undefined {
  const word = string(given, at)
  if (word === 'auto' || word === 'low' || word === 'high' || word === 'original') return word
  if (word !== undefined) losses.add('messages.image.detail')
  return undefined
}

export const urlOf = (source: MediaSource): string =>
  source.kind === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`

/** First base64 characters of the formats that vendors take. */
const magic: readonly [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['JVBERi', 'application/pdf'],
]

/** The type that the first bytes show, of those that vendors take; null: none of them. */
export function magicType(data: string): string | null {
  const known = magic.find(([start]) => data.startsWith(start))?.[1]
  if (known !== undefined) return known
  // A RIFF container holds sound and film too.
  return data.startsWith('UklGR') && Buffer.from(shorten(data, 16), 'base64').toString('latin1', 8, 12) === 'WEBP'
    ? 'image/webp'
    : null
}

/** Other names of the same types, which vendors refuse. */
const sameTypes: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'application/x-pdf': 'application/pdf',
  'text/x-markdown': 'text/markdown',
}

/** The media type that the bytes show, whatever their sender called them. */
export function typeOf({ media_type, data }: Bytes): string {
  const named = media_type.split(';')[0]!.trim().toLowerCase()
  return magicType(data) ?? sameTypes[named] ?? named
}

const endings: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
}

/** The name of a file with the ending of its type: vendors read the type from there. */
export function fileName({ source, name = 'file' }: Extract<CanonicalPart, { type: 'file' }>): string {
  const type = source.kind === 'base64' ? typeOf(source) : typeOfUrl(source.url)
  const known = Object.keys(endings).filter((ending) => endings[ending] === type)
  const hasOne = known.length === 0 || known.some((ending) => name.toLowerCase().endsWith(`.${ending}`))
  return hasOne ? name : `${name}.${known[0]}`
}

/** The type that the ending of an address names; null: none that is known. */
export function typeOfUrl(url: string): string | null {
  const ending = /\.([a-z0-9]{1,5})$/i.exec(URL.parse(url)?.pathname ?? '')?.[1]?.toLowerCase()
  return ending === undefined ? null : (endings[ending] ?? null)
}

/** Where the client put a source, for refusals. */
const fields = new WeakMap<MediaSource, string>()

export const fieldOf = (source: MediaSource): string => fields.get(source) ?? 'messages'

/** Base64 without line breaks, in the usual alphabet and padded; null: the text is none. */
function tidyBase64(data: string): string | null {
  const plain = /^[A-Za-z0-9+/]+={0,2}$/.test(data)
    ? data
    : data
        .replaceAll(/[\t\n\r ]/g, '')
        .replaceAll('-', '+')
        .replaceAll('_', '/')
  const [, digits, padding] = /^([A-Za-z0-9+/]+)(={0,2})$/.exec(plain) ?? []
  if (digits === undefined || digits.length % 4 === 1) return null
  const rest = (4 - (digits.length % 4)) % 4
  if (padding === '') return rest === 0 ? plain : digits + '='.repeat(rest)
  return padding!.length === rest ? plain : null
}

/**
 * What a client put into a field for pictures or files, as what it is: the bytes decide, then the type that it is given,
 * then the ending of its address. Refuses with the field what is no base64.
 */
export function mediaPart(
  given: MediaSource,
  as: Media['type'],
  at: string,
): { type: Media['type']; source: MediaSource } {
  if (given.kind === 'url') {
    const kind = typeOfUrl(given.url)
    fields.set(given, at)
    return { type: kind === null ? as : kindOf(kind), source: given }
  }
  const data = tidyBase64(given.data)
  if (data === null)
    return refuse('invalid_parameter', { param: at, message: `\`${at}\` must be base64: the data can't be decoded.` })
  const source: Bytes = { kind: 'base64', media_type: typeOf({ ...given, data }), data }
  fields.set(source, at)
  return { type: kindOf(source.media_type), source }
}

export const kindOf = (type: string): Media['type'] => (type.startsWith('image/') ? 'image' : 'file')

/** A part as what its bytes are; one that a client's request was read into is so already. */
export function asItIs(part: Media, at = 'messages'): Media {
  const { source } = part
  if (fields.has(source)) return part
  const media = mediaPart(source, part.type, at)
  const mark = part.cache === undefined ? {} : { cache: part.cache }
  return media.type === part.type ? { ...part, source: media.source } : { ...media, ...mark }
}

/** The text of a file of text; null: it is another file. */
export const fileText = (source: Bytes): string | null =>
  /^text\/|^application\/(json|xml|yaml|javascript)\b/.test(typeOf(source))
    ? Buffer.from(source.data, 'base64').toString('utf8')
    : null

/** Types of pictures that every vendor documents. */
const pictures: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** The address of a picture, of a type that every vendor takes. Refuses others with their field. */
export function pictureUrl(source: MediaSource): string {
  if (source.kind === 'base64') pictureType(source)
  return urlOf(source)
}

/** The type of a picture that the vendor takes. `more`: types that it documents besides. Refuses others with their field. */
export function pictureType(source: Bytes, more: readonly string[] = []): string {
  const type = typeOf(source)
  if (pictures.has(type) || more.includes(type)) return type
  return refuse('invalid_parameter', {
    param: fieldOf(source),
    message: `\`${fieldOf(source)}\` is ${shorten(type, 100)}. The model accepts images as ${[...pictures, ...more].map((one) => one.slice(6)).join(', ')}.`,
  })
}
