import { randomUUID } from 'node:crypto'
import type { MediaInput } from './adapter.ts'
import { wellFormedJson } from '../model/well-formed.ts'

export interface RequestBody {
  headers: Readonly<Record<string, string>>
  body: Uint8Array | { bytes: AsyncIterable<Uint8Array>; length: number }
}

/** A form field. Undefined and null are left out; a list becomes one `name[]` per item. */
export type FormValue = string | number | boolean | readonly string[] | MediaInput | null | undefined

type Piece = Buffer | MediaInput

/** RFC 7578. Files are read while they are sent, never buffered. Pairs, because a name may occur several times. */
export function formBody(fields: Iterable<readonly [name: string, value: FormValue]>): RequestBody {
  const boundary = `uk-${randomUUID()}`
  const pieces: Piece[] = []
  const field = (name: string, value: string | MediaInput): void => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quote(name)}"`
    if (typeof value === 'string') return void pieces.push(Buffer.from(`${head}\r\n\r\n${value}\r\n`))
    const file = `${head}; filename="${quote(value.name)}"\r\ncontent-type: ${value.type}\r\n\r\n`
    pieces.push(Buffer.from(file), value, Buffer.from('\r\n'))
  }
  for (const [name, value] of fields) {
    if (value === null || value === undefined) continue
    if (isList(value)) for (const one of value) field(`${name}[]`, one)
    else field(name, typeof value === 'object' ? value : String(value))
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`))
  const length = pieces.reduce((sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : piece.sizeBytes), 0)
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: { bytes: inTurn(pieces, checkLength), length },
  }
}

/** As browsers do (WHATWG, multipart/form-data encoding). */
const quote = (name: string): string => name.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')

const isList = (value: FormValue): value is readonly string[] => Array.isArray(value)

export type Inline = (input: MediaInput, as: 'base64' | 'data address') => string

/** Files in base64, encoded while they are sent. */
export function jsonBody(write: (inline: Inline) => object): RequestBody {
  const headers = { 'content-type': 'application/json' }
  // No text in a request can be mistaken for the random mark.
  const mark = randomUUID()
  const inputs: MediaInput[] = []
  const text = wellFormedJson(
    write((input, as) => `${as === 'base64' ? '' : `data:${input.type};base64,`}${mark}${inputs.push(input) - 1}.`),
  )
  if (inputs.length === 0) return { headers, body: Buffer.from(text) }
  const pieces: Piece[] = text
    .split(new RegExp(`${mark}(\\d+)\\.`))
    .map((piece, index) => (index % 2 === 0 ? Buffer.from(piece) : inputs[Number(piece)]!))
  const length = pieces.reduce(
    (sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : 4 * Math.ceil(piece.sizeBytes / 3)),
    0,
  )
  return { headers, body: { bytes: inTurn(pieces, base64Of), length } }
}

async function* inTurn(
  pieces: readonly Piece[],
  readInput: (input: MediaInput) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) yield piece
    else yield* readInput(piece)
  }
}

/** Any other length than announced would shift what follows in the body. */
async function* checkLength(input: MediaInput): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const bytes of input.read()) {
    size += bytes.length
    if (size > input.sizeBytes) break
    yield bytes
  }
  if (size !== input.sizeBytes) throw new Error(`The file ${input.name} has another size than it had.`)
}

async function* base64Of(input: MediaInput): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0)
  for await (const bytes of checkLength(input)) {
    const all = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes])
    const whole = all.length - (all.length % 3)
    if (whole > 0) yield Buffer.from(all.toString('base64', 0, whole))
    rest = all.subarray(whole)
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'))
}
