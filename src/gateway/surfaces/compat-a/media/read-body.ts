import { refuse } from '#core/errors.ts'
import { boundaryOf, partsIn } from '../../../model/form.ts'
import { isObject, parseJson } from '../../../model/json.ts'
import { Fields } from './read-fields.ts'

export interface UploadedFile {
  name: string
  filename: string
  bytes: Buffer
}

export function fieldsOf(bytes: Buffer, contentType: string | undefined): { fields: Fields; files: UploadedFile[] } {
  const boundary = boundaryOf(contentType)
  if (boundary === null) {
    const json = parseJson(bytes.toString())
    if (!isObject(json)) refuse('invalid_parameter', { message: 'The body must be a JSON object or a form.' })
    return { fields: new Fields(Object.entries(json)), files: [] }
  }
  const pairs: [string, string][] = []
  const files: UploadedFile[] = []
  for (const { name, filename, start, end } of partsIn(bytes, boundary)) {
    if (filename === null) pairs.push([name, bytes.toString('utf8', start, end)])
    // Copies, because the body's memory is reused by another request after reading.
    else files.push({ name: name.replace(/\[\]$/, ''), filename, bytes: Buffer.from(bytes.subarray(start, end)) })
  }
  return { fields: new Fields(pairs), files }
}
