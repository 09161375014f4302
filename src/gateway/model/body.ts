import { isUtf8 } from 'node:buffer'
import { refuse } from '#core/errors.ts'
import { type CountLimits, checkCounts } from '#core/json/json-counts.ts'
import { checkShape, refuseJson } from '#core/json/json-text.ts'
import type { JsonScan, Scan } from '#packages/json-scan/json-scan.ts'
import { shorten } from '#core/text/shorten.ts'
import { wellFormedJson } from './well-formed.ts'
import { isDeeper } from './json.ts'
import { endOfString, endOfValue, skipSpace } from './json-bytes.ts'

/** Properties of a request that decide how it is handled: bits in a scan's words. */
export const mention = {
  kept: 1,
  addressed: 2,
  id: 4,
  anthropicPart: 8,
  customTool: 16,
  developer: 32,
  reference: 64,
  reasoning: 128,
  /** A name whose string is media or its address, or whose list may contain such. */
  media: 256,
} as const

type Json = Record<string, unknown>

export type FieldReader = (name: string) => unknown

interface Place {
  start: number
  end: number
}

/** The bytes are forwarded unchanged; fields are only read for decisions, never serialized again. */
export class Body {
  readonly bytes: Buffer
  readonly places: ReadonlyMap<string, Place> | null
  readonly #scan: Scan | null
  #json: Json | null
  #values: Map<string, unknown> | null = null

  constructor(bytes: Buffer, source: { scan: Scan } | { json: Json; places?: ReadonlyMap<string, Place> }) {
    this.bytes = bytes
    this.#scan = 'scan' in source ? source.scan : null
    this.#json = 'json' in source ? source.json : null
    this.places = 'places' in source ? source.places : null
  }

  get scanned(): boolean {
    return this.#scan !== null
  }

  /** The whole body, parsed on first access: at 20 KB that costs as much as a call without it. */
  get json(): Json {
    return (this.#json ??= JSON.parse(this.bytes.toString()) as Json)
  }

  /** True if a name may occur twice in its object, or equal a checked one when ignoring case. False is certain. */
  get mayHoldTwins(): boolean {
    return this.#scan === null || this.#scan.twins
  }

  get isEmpty(): boolean {
    return this.#scan === null ? Object.keys(this.json).length === 0 : this.#scan.spans.length === 0
  }

  /** The key must be ASCII. */
  has(key: string): boolean {
    return this.#scan === null ? Object.hasOwn(this.json, key) : this.#field(this.#scan, key) >= 0
  }

  /** The key must be ASCII. */
  value(key: string): unknown {
    const scan = this.#scan
    if (scan === null || this.#json !== null) return Object.hasOwn(this.json, key) ? this.json[key] : undefined
    const field = this.#field(scan, key)
    if (field < 0) return undefined
    const values = (this.#values ??= new Map<string, unknown>())
    if (!values.has(key))
      values.set(key, JSON.parse(this.bytes.toString('utf8', scan.spans[field + 2], scan.spans[field + 3])))
    return values.get(key)
  }

  /** Null: it must be searched. */
  placeOf(key: string): Place | null {
    if (this.places !== null) return this.places.get(key)!
    const field = this.#scan === null ? -1 : this.#field(this.#scan, key)
    return field < 0 ? null : { start: this.#scan!.spans[field + 2]!, end: this.#scan!.spans[field + 3]! }
  }

  /** True if any of these (bits of `mention`) may occur in the body. False is certain. */
  mentions(subjects: number): boolean {
    return this.#scan === null || (this.#scan.seen & subjects) !== 0
  }

  /** True if a top-level array certainly contains only objects with another object as `item`. */
  holdsItems(key: string): boolean {
    const field = this.#scan === null ? -1 : this.#field(this.#scan, key)
    return field >= 0 && (this.#scan!.holds & (1 << (field / 4))) !== 0
  }

  /** Null if their size says nothing about what a reader makes of them. */
  sizeWithout(others: ReadonlySet<string>): number | null {
    const scan = this.#scan
    if (scan === null || scan.exponents) return null
    const { spans } = scan
    let size = 0
    for (let field = 0; field < spans.length; field += 4)
      if (!others.has(this.bytes.toString('latin1', spans[field]! + 1, spans[field + 1]! - 1)))
        size += spans[field + 3]! - spans[field]!
    return size
  }

  includes(text: string): boolean {
    return this.bytes.includes(text, 0, 'latin1')
  }

  #field({ spans }: Scan, key: string): number {
    const { bytes } = this
    for (let field = 0; field < spans.length; field += 4) {
      const name = spans[field]! + 1
      if (spans[field + 1]! - name - 1 !== key.length) continue
      let i = 0
      while (i < key.length && bytes[name + i] === key.charCodeAt(i)) i++
      if (i === key.length) return field
    }
    return -1
  }
}

const NESTING = 512

/**
 * Refuses with 400 anything but one well-formed JSON object within the limits. `scan` reads most bodies without
 * parsing.
 */
export function readBody(bytes: Buffer, scan: JsonScan | null = null, limits: CountLimits | null = null): Body {
  if (!isUtf8(bytes)) refuse('malformed_json', { message: 'The body isn’t valid UTF-8.' })
  if (limits !== null) checkCounts(bytes, limits)
  const result = scan === null ? null : scan(bytes)
  return new Body(bytes, result === null ? { json: parseBody(bytes) } : { scan: result })
}

function parseBody(bytes: Buffer): Json {
  checkShape(bytes, NESTING)
  const text = bytes.toString()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') refuse('malformed_json', { message: 'The body is empty. Send a JSON object.' })
    refuseJson(error)
  }
  if (json === null || typeof json !== 'object' || Array.isArray(json))
    refuse('malformed_json', { message: 'The body must be a JSON object.' })
  // Each level takes at least two bytes.
  if (bytes.length > 2 * NESTING && isDeeper(json, NESTING))
    refuse('malformed_json', { message: `The body can be nested up to ${NESTING} levels deep.` })
  return json as Json
}

/** Replaces bytes `start` (inclusive) to `end` (exclusive) with `text`. */
export interface Edit {
  start: number
  end: number
  text: string
}

/**
 * Sets a top-level field, whose name must be ASCII letters and underscores: replaces the bytes of its value in place,
 * or inserts the field at the front.
 */
export function setField(body: Body, key: string, valueJson: string): Edit {
  if (!body.has(key)) {
    const at = body.bytes.indexOf(0x7b) + 1
    const others = body.isEmpty ? '' : ','
    return { start: at, end: at, text: `${JSON.stringify(key)}:${valueJson}${others}` }
  }
  const { start, end } = locate(body, key)
  return { start, end, text: valueJson }
}

/** If all edits end before this byte, only the part up to them is copied. */
const NEAR = 16_384

export function splice(body: Body, edits: readonly Edit[]): Buffer {
  const { lead, rest } = spliceApart(body, edits)
  return lead === '' ? rest : Buffer.concat([Buffer.from(lead, 'latin1'), rest])
}

/**
 * Applies edits and returns two pieces: a lead with one byte per character, as long as the edits require, and the rest
 * of the client's bytes, not copied. If the edits are far back, the lead is empty and everything is copied.
 */
export function spliceApart({ bytes }: Body, edits: readonly Edit[]): { lead: string; rest: Buffer } {
  if (edits.length === 0) return { lead: '', rest: bytes }
  const inOrder = edits.length === 1 ? edits : edits.toSorted((a, b) => a.start - b.start || a.end - b.end)
  if (inOrder.at(-1)!.end > NEAR || !edits.every(({ text }) => isPlain(text)))
    return { lead: '', rest: Buffer.concat(piecesOf(bytes, inOrder)) }
  let lead = ''
  let from = 0
  for (const { start, end, text } of inOrder) {
    lead += bytes.toString('latin1', from, start) + text
    from = end
  }
  return { lead, rest: bytes.subarray(from) }
}

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
 * Returns the position of the value of an existing top-level key. Refuses duplicate keys: the parser and the provider
 * could each read a different one.
 */
export const locate = (body: Body, key: string): Place => body.placeOf(key) ?? walk(body.bytes, key)

/** Refuses an object with a duplicate top-level name. Scanned bodies and forms can't have any. */
export function refuseTwice(body: Body): void {
  if (body.scanned || body.places !== null) return
  const names = new Set<string>()
  for (const { name } of membersOf(body.bytes)) {
    if (names.has(name)) refuseSecond(name)
    names.add(name)
  }
}

const refuseSecond = (name: string): never =>
  refuse('invalid_parameter', { message: `\`${shorten(name, 100)}\` was sent twice.`, param: shorten(name, 100) })

function walk(bytes: Buffer, key: string): Place {
  let place: Place | null = null
  for (const { name, start, end } of membersOf(bytes)) {
    if (name !== key) continue
    if (place) refuseSecond(name)
    place = { start, end }
  }
  if (!place) throw new Error(`the object has no key ${key}`)
  return place
}

/** Members in order: the name, where it starts, and the position of its value. */
function* membersOf(bytes: Buffer): Generator<Place & { name: string; from: number }> {
  let at = skipSpace(bytes, bytes.indexOf(0x7b) + 1)
  while (bytes[at] === 0x22) {
    const nameEnd = endOfString(bytes, at)
    const start = afterColon(bytes, nameEnd)
    const end = endOfValue(bytes, start)
    yield { name: JSON.parse(bytes.toString('utf8', at, nameEnd)) as string, from: at, start, end }
    at = skipSpace(bytes, end)
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1)
  }
}

export function without({ bytes, json }: Body, keys: ReadonlySet<string>): Body {
  const pieces: Buffer[] = []
  for (const { name, from, end } of membersOf(bytes))
    if (!keys.has(name)) pieces.push(Buffer.from(pieces.length === 0 ? '{' : ','), bytes.subarray(from, end))
  const remainder = Buffer.concat(pieces.length === 0 ? [Buffer.from('{}')] : [...pieces, Buffer.from('}')])
  const fields = Object.fromEntries(Object.entries(json).filter(([key]) => !keys.has(key)))
  return new Body(remainder, { json: fields })
}

export function withField(body: Body, key: string, value: unknown): Body {
  const bytes = splice(body, [setField(body, key, wellFormedJson(value))])
  return new Body(bytes, { json: { ...body.json, [key]: value } })
}

const afterColon = (bytes: Buffer, at: number): number => skipSpace(bytes, skipSpace(bytes, at) + 1)
