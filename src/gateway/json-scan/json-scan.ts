import { wasm } from './scan.wasm.ts'

/** A word that a scan looks out for. Its bits are of the caller's choosing, 14 of them, and come back in `Scan.seen`. */
export interface Word {
  /** Seen as the name of a member, at any depth. */
  name?: number
  /** Seen as a whole string that is not a name, at any depth. */
  value?: number
  /** A name whose array or object is somebody's own data, in which no word counts; `within`: not at the top. */
  data?: true | 'within'
  /** A name that `holds` tells of. */
  item?: boolean
  /** A name whose other spellings set `twins`. */
  judged?: boolean
}

/** The findings of one pass over a JSON object. */
export interface Scan {
  /** Four numbers for every field at the top: the beginning and end of its name, with the quotes, and of its value. */
  spans: readonly number[]
  /**
   * Bits of the words that were seen; all of them where an escape spells a letter that a word might have. A bit that no word
   * has is always set: nobody looked.
   */
  seen: number
  /** A bit for each field: its array holds objects alone, and each has an `item` that is an object. */
  holds: number
  /** Whether some number has an exponent, and may be longer where somebody writes it out. */
  exponents: boolean
  /**
   * Whether a name outside the user's own data may equal a `judged` one without regard to case, or is set twice in one
   * object below the top. False is certain; true needs a full check.
   */
  twins: boolean
}

/**
 * Reads bytes, which must be UTF-8, as strictly as `JSON.parse`, and builds nothing: a tenth of its time. Null: this is no
 * object, or nests deeper than 512 levels, or has at the top a name twice, or with an escape, or more fields than requests
 * have, or is very long. What is null may be right: `JSON.parse` has to say.
 */
export type JsonScan = (bytes: Uint8Array) => Scan | null

// `@types/node` has it only with the types of browsers.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

interface Exports {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number }
  /** The number of the object's fields, -1: as `null` of `JsonScan`. */
  scan(length: number): number
}

/** A longer text is a picture: `JSON.parse` is not much slower there, and this memory is never given back. */
const LONGEST = 4 << 20
const LONGEST_WORD = 31
const MOST_WORDS = 255
const PAGE = 65_536

// As `scan.as` has them.
const TOLD = 1_024
const SLOTS = 4_096
const WORDS = 36_864
const WORD_BYTES = 40
const TEXT = 65_536
const ZEROS = 64
const NUMBERS = 2 + 4 * 32
const SUBJECTS = 0x3fff
const EXPONENT = 1 << 14
const TWIN = 1 << 15

const classes = [
  [1, ' \t\n\r'],
  [2, '0123456789'],
  [4, '0123456789abcdefABCDEF'],
  [8, '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'],
] as const

export function createJsonScan(words: Readonly<Record<string, Word>> = {}): JsonScan {
  const module = new WebAssembly.Module(Buffer.from(wasm, 'base64'))
  const { memory, scan } = new WebAssembly.Instance(module).exports as Exports
  let room = new Uint8Array(memory.buffer)
  let told = new Int32Array(memory.buffer, TOLD, NUMBERS)
  for (const [bit, characters] of classes) for (const character of characters) room[character.charCodeAt(0)]! |= bit
  writeWords(room, words)
  const unwatched = Object.values(words).reduce((bits, { name = 0, value = 0 }) => bits & ~(name | value), SUBJECTS)

  return (bytes) => {
    const { length } = bytes
    if (length > LONGEST) return null
    const missing = TEXT + length + ZEROS - room.length
    if (missing > 0) {
      memory.grow(Math.ceil(missing / PAGE))
      room = new Uint8Array(memory.buffer)
      told = new Int32Array(memory.buffer, TOLD, NUMBERS)
    }
    room.set(bytes, TEXT)
    room.fill(0, TEXT + length, TEXT + length + ZEROS)
    const fields = scan(length)
    if (fields < 0) return null
    const spans: number[] = []
    for (let i = 2; i < 2 + 4 * fields; i++) spans.push(told[i]!)
    const marks = told[0]!
    return {
      spans,
      seen: (marks & SUBJECTS) | unwatched,
      holds: told[1]!,
      exponents: (marks & EXPONENT) !== 0,
      twins: (marks & TWIN) !== 0,
    }
  }
}

function writeWords(room: Uint8Array, words: Readonly<Record<string, Word>>): void {
  const view = new DataView(room.buffer)
  let count = 0
  for (const name in words) {
    const bytes = Buffer.from(name)
    const slot = SLOTS + ((bytes.length << 10) | ((bytes[0]! & 31) << 5) | (bytes.at(-1)! & 31))
    if (bytes.length > LONGEST_WORD || ++count > MOST_WORDS) throw new Error(`${name} cannot be looked out for`)
    const word = WORDS + count * WORD_BYTES
    room.set(bytes, word)
    // Words of one slot have the same length, so none is the beginning of another.
    room[word + 32] = room[slot]!
    view.setUint32(word + 36, bitsOf(words[name]!), true)
    room[slot] = count
  }
}

const bitsOf = ({ name = 0, value = 0, data, item = false, judged = false }: Word): number =>
  (name |
    (value << 14) |
    (item ? 1 << 28 : 0) |
    (data === true ? 1 << 29 : data === 'within' ? 1 << 30 : 0) |
    (judged ? 1 << 31 : 0)) >>>
  0
