import { refuse } from '#core/errors.ts'
import { Body } from './body.ts'

/** A field that decides something is short; what is longer is content. */
const LONGEST_FIELD = 65_536
const MOST_PARTS = 1_000
/** The end of a boundary's line: another part follows, or nothing. */
const ENDS = /^(?:\r\n|--)$/

/** The boundary of a multipart body, or null where it is none. */
export function boundaryOf(contentType: string | undefined): string | null {
  const found = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(
    contentType ?? '',
  )
  return found?.[1] ?? found?.[2] ?? null
}

/** Part of a form: `filename` null, a field. */
export interface FormPart {
  name: string
  filename: string | null
  /** The content type that the client names; nothing is believed of it. */
  type: string | null
  start: number
  end: number
}

/** The parts of a form (RFC 7578). What another parser might read in another way, a field's name that is no plain word, is refused. */
export function* partsIn(bytes: Buffer, boundary: string): Generator<FormPart> {
  const line = Buffer.from(`\r\n--${boundary}`)
  const first = bytes.indexOf(line.subarray(2))
  if (first < 0) broken('its boundary is missing')
  let at = first + line.length - 2
  for (let parts = 0; bytes.toString('latin1', at, at + 2) !== '--'; parts++) {
    if (parts === MOST_PARTS) broken(`it has more than ${MOST_PARTS} parts`)
    const start = bytes.indexOf('\r\n\r\n', at)
    const end = bytes.indexOf(line, Math.max(at, start))
    if (start < 0 || end < 0) broken('a part isn’t terminated')
    if (
      bytes.indexOf(line.subarray(2), start) !== end + 2 ||
      !ENDS.test(bytes.toString('latin1', end + line.length, end + line.length + 2))
    )
      broken('its boundary appears before the end of a part')
    const head = bytes.toString('utf8', at, start)
    const named =
      /^\s*content-disposition:\s*form-data\s*;\s*name="?([\w.[\]-]+)"?\s*(;\s*filename="?([^"\r\n]*)"?[^\r\n]*)?$/im.exec(
        head,
      )
    if (!named || /name\*/i.test(named[0]) || head.match(/content-disposition/gi)!.length > 1)
      return broken('a part has no valid name')
    yield {
      name: named[1]!,
      filename: named[2] === undefined ? null : named[3]!,
      type: /^\s*content-type:\s*([^;\r\n]+)/im.exec(head)?.[1]?.trim() ?? null,
      start: start + 4,
      end,
    }
    at = end + line.length
  }
}

const broken = (why: string): never => refuse('invalid_parameter', { message: `The form can’t be read: ${why}.` })

/**
 * A client's form: the bytes travel on, its short text fields decide. A field that is there twice is refused, as nobody knows
 * which of them another parser would read. `refuseTwin` refuses names that a parser may take for another field's.
 */
export function readForm(bytes: Buffer, boundary: string, refuseTwin: (name: string) => void): Body {
  const json: Record<string, unknown> = {}
  const places = new Map<string, { start: number; end: number }>()
  for (const { name, filename, start, end } of partsIn(bytes, boundary)) {
    refuseTwin(name.replace(/\[.*/, ''))
    if (filename === null && end - start <= LONGEST_FIELD) {
      if (places.has(name) && !name.endsWith('[]')) broken(`\`${name}\` was sent twice`)
      places.set(name, { start, end })
      json[name] = bytes.toString('utf8', start, end)
    } else if (name === 'model') broken('`model` must be a plain field')
  }
  return new Body(bytes, { json, places })
}
