import { type Bytes, isStored } from '#core/answers.ts'
import { type Content, type ToolResult, toolResult } from './tools.ts'

/** Limit for inline text; larger files are better read by lines. */
const MAX_TEXT = 65_536
/** Limit for images and audio, before base64. */
const MAX_MEDIA = 1_048_576

/**
 * Converts bytes to a tool result: short text in `data.text`, small images and audio as content, everything else as a
 * link. `url` is their REST address; null if only this call produces them.
 */
export async function bytesResult({ headers, body }: Bytes, url: string | null): Promise<ToolResult> {
  const field = lowered(headers)
  const contentType = field['content-type'] ?? 'application/octet-stream'
  const size = isStored(body)
    ? body.size
    : field['content-length'] === undefined
      ? null
      : Number(field['content-length'])
  const at = field.location ?? url
  const about = { content_type: contentType, size_bytes: size, text: null, url: at }
  const most = isText(contentType) ? MAX_TEXT : mediaOf(contentType) !== null ? MAX_MEDIA : 0
  if (field.location !== undefined || (size !== null && size > most)) {
    await cancel(body)
    return toolResult({ data: about }, ...linkTo(at, contentType, size))
  }
  const bytes = await readUpTo(body, most)
  if (bytes === null) return toolResult({ data: about }, ...linkTo(at, contentType, size))
  const whole = { ...about, size_bytes: bytes.length }
  const media = mediaOf(contentType)
  if (media === null) return toolResult({ data: { ...whole, text: bytes.toString('utf8') } })
  return toolResult(
    { data: whole },
    { type: media, data: bytes.toString('base64'), mimeType: contentType.split(';')[0]! },
  )
}

const lowered = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const isText = (type: string): boolean =>
  /^(text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|javascript|x-ndjson|sql)\b)/i.test(type)

const mediaOf = (type: string): 'image' | 'audio' | null =>
  /^image\/(png|jpeg|gif|webp)\b/i.test(type) ? 'image' : /^audio\//i.test(type) ? 'audio' : null

const linkTo = (uri: string | null, mimeType: string, size: number | null): Content[] =>
  uri === null ? [] : [{ type: 'resource_link', uri, name: nameIn(uri), mimeType, ...(size !== null && { size }) }]

const nameIn = (uri: string): string => decodeURIComponent(uri.split('?')[0]!.split('/').at(-1)!) || 'bytes'

/** Null if there are more bytes. */
async function readUpTo(body: Bytes['body'], most: number): Promise<Buffer | null> {
  if (body === null) return Buffer.alloc(0)
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body)
    return bytes.length > most ? null : bytes
  }
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of isStored(body) ? body.read({ start: 0, end: body.size }) : body) {
    size += part.length
    if (size > most) return null
    // Copied, since a stored chunk is valid only until the next read.
    parts.push(Buffer.from(part))
  }
  return Buffer.concat(parts)
}

async function cancel(body: Bytes['body']): Promise<void> {
  if (body !== null && typeof body === 'object' && Symbol.asyncIterator in body)
    await body[Symbol.asyncIterator]().return?.(undefined)
}
