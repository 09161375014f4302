import { refuse } from '#core/errors.ts'
import { Body } from './body.ts'

/** Fields that affect handling are short; longer ones are content. */
const LONGEST_FIELD = 65_536
const MAX_PARTS = 1_000
const ENDS = /^(?:\r\n|--)$/

export function boundaryOf(contentType: string | undefined): string | null {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(
    contentType ?? '',
  )
  return match?.[1] ?? match?.[2] ?? null
}

export interface FormPart {
  name: string
  filename: string | null
  type: string | null
  start: number
  end: number
}

/** RFC 7578. Refuses anything that parsers might read differently, such as field names that aren't plain words. */
export function* partsIn(bytes: Buffer, boundary: string): Generator<FormPart> {
  const line = Buffer.from(`\r\n--${boundary}`)
  const first = bytes.indexOf(line.subarray(2))
  if (first < 0) refuseForm('its boundary is missing')
  let at = first + line.length - 2
  for (let parts = 0; bytes.toString('latin1', at, at + 2) !== '--'; parts++) {
    if (parts === MAX_PARTS) refuseForm(`it has more than ${MAX_PARTS} parts`)
    const start = bytes.indexOf('\r\n\r\n', at)
    const end = bytes.indexOf(line, Math.max(at, start))
    if (start < 0 || end < 0) refuseForm('a part isn’t terminated')
    if (
      bytes.indexOf(line.subarray(2), start) !== end + 2 ||
      !ENDS.test(bytes.toString('latin1', end + line.length, end + line.length + 2))
    )
      refuseForm('its boundary appears before the end of a part')
    const head = bytes.toString('utf8', at, start)
    const name =
      /^\s*content-disposition:\s*form-data\s*;\s*name="?([\w.[\]-]+)"?\s*(;\s*filename="?([^"\r\n]*)"?[^\r\n]*)?$/im.exec(
        head,
      )
    if (!name || /name\*/i.test(name[0]) || head.match(/content-disposition/gi)!.length > 1)
      return refuseForm('a part has no valid name')
    yield {
      name: name[1]!,
      filename: name[2] === undefined ? null : name[3]!,
      type: /^\s*content-type:\s*([^;\r\n]+)/im.exec(head)?.[1]?.trim() ?? null,
      start: start + 4,
      end,
    }
    at = end + line.length
  }
}

const refuseForm = (why: string): never => refuse('invalid_parameter', { message: `The form can’t be read: ${why}.` })

/**
 * Duplicate fields are refused, because parsers differ in which one they read. `refuseTwin` refuses names that a parser
 * may take for another field.
 */
export function readForm(bytes: Buffer, boundary: string, refuseTwin: (name: string) => void): Body {
  const json: Record<string, unknown> = {}
  const places = new Map<string, { start: number; end: number }>()
  for (const { name, filename, start, end } of partsIn(bytes, boundary)) {
    refuseTwin(name.replace(/\[.*/, ''))
    if (filename === null && end - start <= LONGEST_FIELD) {
      if (places.has(name) && !name.endsWith('[]')) refuseForm(`\`${name}\` was sent twice`)
      places.set(name, { start, end })
      json[name] = bytes.toString('utf8', start, end)
    } else if (name === 'model') refuseForm('`model` must be a plain field')
  }
  return new Body(bytes, { json, places })
}
