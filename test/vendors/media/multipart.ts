// Reads multipart/form-data (RFC 7578) strictly, and converts its fields to the values that a rule expects.
import type { Rule } from '../rules.ts'
import type { RecordedRequest, Json } from '../vendor.ts'

/** A file of a form, as a value of a body. */
export type Upload = { filename: string; type: string; bytes: Buffer }

export type Part = { name: string; value: string | Upload }

/** Returns the parts in order, or a text that says what is wrong with the body. */
export function partsOf({ headers, body }: RecordedRequest): Part[] | string {
  const kind = headers['content-type'] ?? ''
  const [, quotedBoundary, plain] =
    /^multipart\/form-data;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))$/i.exec(kind) ?? []
  const boundary = quotedBoundary ?? plain
  if (boundary === undefined) return `The content type "${kind}" is not multipart/form-data with a boundary.`
  const line = Buffer.from(`\r\n--${boundary}`)
  const bytes = Buffer.concat([Buffer.from('\r\n'), body])
  const parts: Part[] = []
  let at = bytes.indexOf(line)
  if (at !== 0) return 'The body does not begin with the boundary.'
  for (;;) {
    const from = at + line.length
    if (bytes.toString('latin1', from, from + 2) === '--') return parts
    if (bytes.toString('latin1', from, from + 2) !== '\r\n') return 'A boundary is not followed by a new line.'
    const head = bytes.indexOf('\r\n\r\n', from)
    at = bytes.indexOf(line, from)
    if (at < 0) return 'The closing boundary is missing.'
    if (head < 0 || head > at) return 'A part has no head.'
    const part = partOf(bytes.toString('utf8', from + 2, head), bytes.subarray(head + 4, at))
    if (typeof part === 'string') return part
    parts.push(part)
  }
}

function partOf(head: string, bytes: Buffer): Part | string {
  const fields = new Map(
    head.split('\r\n').map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const
    }),
  )
  const disposition = fields.get('content-disposition') ?? ''
  const name = /^form-data;.*?\bname="([^"]*)"/i.exec(disposition)?.[1]
  if (name === undefined) return `A part has no name: "${disposition}".`
  const filename = /;\s*filename="([^"]*)"/i.exec(disposition)?.[1]
  if (filename === undefined) return { name, value: bytes.toString('utf8') }
  return { name, value: { filename, type: fields.get('content-type') ?? 'text/plain', bytes } }
}

/**
 * The fields of a form as one body: `image[]` and repeated names are lists, `a[b]` is a field of an object, and words
 * are numbers or booleans if the rule expects those. Text stays text if the rule expects an object.
 */
export function bodyOf(parts: Part[], rule: Rule): Json {
  const body: Json = {}
  for (const { name, value } of parts) {
    const [, field = name, inner] = /^([^[\]]+)(?:\[([^[\]]*)\])?$/.exec(name) ?? []
    const fieldRule = rule.fields?.[field]
    if (inner) body[field] = { ...body[field], [inner]: readValue(value, fieldRule?.fields?.[inner]) }
    else if (inner === '') body[field] = [...(body[field] ?? []), readValue(value, fieldRule?.items)]
    else if (field in body) body[field] = [body[field], readValue(value, fieldRule?.items)].flat()
    else body[field] = readValue(value, fieldRule)
  }
  return body
}

function readValue(value: string | Upload, rule: Rule | undefined): unknown {
  if (typeof value !== 'string' || rule === undefined) return value
  const kinds = [rule.kind].flat()
  if (kinds.includes('string')) return value
  if (kinds.includes('boolean') && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
  if ((kinds.includes('integer') || kinds.includes('number')) && /^-?\d+(\.\d+)?$/.test(value)) return Number(value)
  return value
}

export function isUpload(value: unknown): value is Upload {
  return typeof value === 'object' && value !== null && Buffer.isBuffer((value as Upload).bytes)
}
