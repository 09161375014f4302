import { refuse } from '#core/errors.ts'
import { boundaryOf, partsIn } from '../../../model/form.ts'
import { isObject, parseJson } from '../../../model/json.ts'
import { Fields } from './read-fields.ts'

/** A file of a form, in the memory of its request. */
export interface UploadedFile {
  name: string
  filename: string
  bytes: Buffer
}

/** What a body says: of JSON its fields, of a form its text fields and its files. */
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
    // A copy: the memory of the body is another request's as soon as it was read.
    else files.push({ name: name.replace(/\[\]$/, ''), filename, bytes: Buffer.from(bytes.subarray(start, end)) })
  }
  return { fields: new Fields(pairs), files }
}
