import { isAscii, isUtf8 } from 'node:buffer'
import { refuse } from '#kernel/errors.ts'
import { refuseJson } from '#kernel/text/json-text.ts'

/** A client's JSON object: the bytes travel on, `json` decides and is never written out again. */
export interface Body {
  bytes: Buffer
  /** What is searched for keys: the same text as a string where every character is one byte, which is faster. */
  source: string | Buffer
  json: Record<string, unknown>
  /** Of a form: where its fields' values stand. */
  places?: ReadonlyMap<string, { start: number; end: number }>
}

/** Deepest nesting that the gateways take (contract, part 2). */
const NESTING = 512

/** Refuses with 400 what is not one well-formed JSON object. */
export function readBody(bytes: Buffer): Body {
  const ascii = isAscii(bytes)
  if (!ascii && !isUtf8(bytes)) refuse('malformed_json', { message: 'The body is not UTF-8.' })
  const text = ascii ? bytes.toString('latin1') : bytes.toString()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') refuse('malformed_json', { message: 'The body is empty: send a JSON object.' })
    refuseJson(error)
  }
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    refuse('malformed_json', { message: 'The body must be a JSON object.' })
  // It takes two bytes to nest once more.
  if (bytes.length > 2 * NESTING && deeper(json, NESTING))
    refuse('malformed_json', { message: `The body nests deeper than ${NESTING} levels.` })
  return { bytes, source: ascii ? text : bytes, json: json as Record<string, unknown> }
}

function deeper(value: object, levels: number): boolean {
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const item of value)
      if (item !== null && typeof item === 'object' && deeper(item as object, levels - 1)) return true
    return false
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    if (item !== null && typeof item === 'object' && deeper(item, levels - 1)) return true
  }
  return false
}

/** Bytes `start` (inclusive) to `end` (exclusive) give way to `text`. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** Sets a top-level field, whose name is ASCII letters and underscores: its value's bytes are replaced where they stand, or the field is put in front of the others. */
export function setField(body: Body, key: string, valueJson: string): Edit {
  const { bytes, json } = body
  if (!Object.hasOwn(json, key)) {
    const at = bytes.indexOf(0x7b) + 1
    const others = Object.keys(json).length > 0 ? ',' : ''
    return { start: at, end: at, text: `${JSON.stringify(key)}:${valueJson}${others}` }
  }
  const { start, end } = locate(body, key)
  return { start, end, text: valueJson }
}

/** Texts up to here travel on as strings, so that they leave in one write with their head. */
const SHORT = 16_384

/** The body with these edits, which must not overlap. A string holds one byte per character. */
export function splice(body: Body, edits: readonly Edit[]): Buffer | string {
  const { lead, rest } = spliceApart(body, edits)
  if (lead === '') return rest
  return rest.length === 0 ? lead : Buffer.concat([Buffer.from(lead, 'latin1'), Buffer.from(rest)])
}

/**
 * The same in two pieces, of which the first holds one byte per character: all of it where it is short; where it is long
 * as much as the edits need, and the rest is the client's own bytes, not copied.
 */
export function spliceApart({ bytes, source }: Body, edits: readonly Edit[]): { lead: string; rest: Buffer } {
  if (edits.length === 0) return { lead: '', rest: bytes }
  const inOrder = edits.length === 1 ? edits : edits.toSorted((a, b) => a.start - b.start || a.end - b.end)
  const short = typeof source === 'string' && source.length < SHORT
  const upTo = short ? source.length : inOrder.at(-1)!.end
  if (upTo > SHORT || !edits.every(({ text }) => isPlain(text)))
    return { lead: '', rest: Buffer.concat(piecesOf(bytes, inOrder)) }
  let lead = ''
  let from = 0
  for (const { start, end, text } of inOrder) {
    lead += (typeof source === 'string' ? source.slice(from, start) : bytes.toString('latin1', from, start)) + text
    from = end
  }
  if (short) return { lead: lead + source.slice(from), rest: NOTHING }
  return { lead, rest: bytes.subarray(from) }
}

const NOTHING = Buffer.alloc(0)

function piecesOf(bytes: Buffer, edits: readonly Edit[]): Buffer[] {
  const parts: Buffer[] = []
  let from = 0
  for (const { start, end, text } of edits) {
    parts.push(bytes.subarray(from, start), Buffer.from(text))
    from = end
  }
  return [...parts, bytes.subarray(from)]
}

const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/**
 * Where the value of a top-level key stands, in the bytes of a body that has this key.
 * A key that is there twice is refused: the parser and the provider could each see another one of the two.
 */
export function locate({ bytes, source, places }: Body, key: string): { start: number; end: number } {
  if (places !== undefined) return places.get(key)!
  const word = `"${key}"`
  const first = source.indexOf(word)
  // Spelled once, and no escape could spell it in another way: then this is the key. No walk needed.
  if (first >= 0 && source.indexOf(word, first + 1) < 0 && source.indexOf('\\u00') < 0) {
    const start = afterColon(bytes, first + word.length)
    return { start, end: endOfValue(bytes, start) }
  }
  return walk(bytes, key)
}

function walk(bytes: Buffer, wanted: string): { start: number; end: number } {
  let found: { start: number; end: number } | null = null
  let at = skipSpace(bytes, bytes.indexOf(0x7b) + 1)
  while (bytes[at] === 0x22) {
    const keyEnd = endOfString(bytes, at)
    const key = JSON.parse(bytes.toString('utf8', at, keyEnd)) as string
    const start = afterColon(bytes, keyEnd)
    const end = endOfValue(bytes, start)
    if (key === wanted) {
      if (found) refuse('invalid_parameter', { message: `\`${wanted}\` is there twice.`, param: wanted })
      found = { start, end }
    }
    at = skipSpace(bytes, end)
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1)
  }
  if (!found) throw new Error(`the object has no key ${wanted}`)
  return found
}

/** The object without these top-level keys. The bytes of all other members stay as they are, in their order. */
export function without({ bytes, json }: Body, keys: ReadonlySet<string>): Body {
  const kept: Buffer[] = []
  let at = skipSpace(bytes, bytes.indexOf(0x7b) + 1)
  while (bytes[at] === 0x22) {
    const keyEnd = endOfString(bytes, at)
    const end = endOfValue(bytes, afterColon(bytes, keyEnd))
    if (!keys.has(JSON.parse(bytes.toString('utf8', at, keyEnd)) as string))
      kept.push(Buffer.from(kept.length === 0 ? '{' : ','), bytes.subarray(at, end))
    at = skipSpace(bytes, end)
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1)
  }
  const left = Buffer.concat(kept.length === 0 ? [Buffer.from('{}')] : [...kept, Buffer.from('}')])
  const fields = Object.fromEntries(Object.entries(json).filter(([key]) => !keys.has(key)))
  return { bytes: left, source: left, json: fields }
}

/** The object with one more or another top-level field. */
export function withField(body: Body, key: string, value: unknown): Body {
  const bytes = Buffer.from(splice(body, [setField(body, key, JSON.stringify(value))]))
  return { bytes, source: bytes, json: { ...body.json, [key]: value } }
}

function skipSpace(bytes: Buffer, at: number): number {
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

const afterColon = (bytes: Buffer, at: number): number => skipSpace(bytes, skipSpace(bytes, at) + 1)

/** `at` is on the opening quote. */
function endOfString(bytes: Buffer, at: number): number {
  for (let quote = bytes.indexOf(0x22, at + 1); ; quote = bytes.indexOf(0x22, quote + 1)) {
    if (quote < 0) throw new Error('the string does not end')
    let slashes = 0
    while (bytes[quote - 1 - slashes] === 0x5c) slashes++
    if (slashes % 2 === 0) return quote + 1
  }
}

/** Where the JSON value that starts at `at` ends. Throws when it does not. */
export function endOfValue(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === 0x22) return endOfString(bytes, at)
  if (byte !== 0x7b && byte !== 0x5b) {
    // A number, true, false or null ends where JSON's punctuation or space begins.
    while (at < bytes.length && !ENDS.has(bytes[at]!)) at++
    return at
  }
  let depth = 0
  for (;;) {
    const here = bytes[at]
    if (here === undefined) throw new Error('the value does not end')
    if (here === 0x22) {
      at = endOfString(bytes, at)
      continue
    }
    if (here === 0x7b || here === 0x5b) depth++
    if (here === 0x7d || here === 0x5d) depth--
    at++
    if (depth === 0) return at
  }
}

const ENDS: ReadonlySet<number> = new Set([0x2c, 0x7d, 0x5d, 0x20, 0x0a, 0x0d, 0x09])
