/**
 * Reads a JSON object as strictly as `JSON.parse` (RFC 8259), of bytes that are UTF-8, and builds nothing. AssemblyScript,
 * compiled by `tools/json-scan.ts` into `scan.wasm.ts`; `json-scan.ts` says what it tells and lays out this memory.
 */
const CLASSES: usize = 0
const CLOSERS: usize = 256
const TOLD: usize = 1024
const SPANS: usize = 1032
const SLOTS: usize = 4096
const WORDS: usize = 36864
const WORD_BYTES: usize = 40
const LONGEST_WORD: usize = 31
/** Behind the text at least 16 bytes are zero, which end whatever is read. */
const TEXT: usize = 65536

const NESTING: i32 = 512
const MOST_FIELDS: i32 = 32

// Classes of bytes.
const SPACE: u32 = 1
const DIGIT: u32 = 2
const HEX: u32 = 4
/** What words are spelled with, should it stand there as `\u00..`. */
const LETTER: u32 = 8
/** What may follow a backslash, but `u`. */
const ESCAPED: u32 = 16

// What a word says: two sets of bits, and three more.
const SUBJECTS: u32 = 0x3fff
const AS_VALUE: u32 = 14
const ITEM: u32 = 1 << 28
const DATA: u32 = 1 << 29
const DATA_WITHIN: u32 = 1 << 30

// What may come next.
const VALUE: i32 = 0
const VALUE_OR_END: i32 = 1
const NAME: i32 = 2
const NAME_OR_END: i32 = 3
const COMMA_OR_END: i32 = 4

/** How many fields the object has; -1: it is none, or `JSON.parse` has to say. */
export function scan(length: i32): i32 {
  const end = TEXT + <usize>length
  const quotes = i8x16.splat(0x22)
  const backslashes = i8x16.splat(0x5c)
  const spaces = i8x16.splat(0x20)
  let fields: i32 = 0
  let seen: u32 = 0
  let holds: u32 = 0
  // Of the element of a list at the top.
  let item = false
  let otherItem = false
  /** Depth of the data that no word counts in. */
  let data = NESTING
  let next = VALUE
  let depth: i32 = -1
  let at = TEXT
  while (true) {
    const byte: u32 = load<u8>(at)
    if (byte <= 0x20) {
      if (!is(byte, SPACE)) return -1
      at++
      continue
    }
    if (byte == 0x22) {
      const start = ++at
      let escaped = false
      while (true) {
        const sixteen = v128.load(at)
        const marks: u32 = i8x16.bitmask(
          v128.or(
            v128.or(i8x16.eq(sixteen, quotes), i8x16.eq(sixteen, backslashes)),
            i8x16.lt_u(sixteen, spaces),
          ),
        )
        if (marks == 0) {
          at += 16
          continue
        }
        at += ctz(marks)
        const mark: u32 = load<u8>(at)
        if (mark == 0x22) break
        if (mark != 0x5c) return -1
        escaped = true
        const kind: u32 = load<u8>(at + 1)
        if (is(kind, ESCAPED)) {
          at += 2
          continue
        }
        if (kind != 0x75 || !isHex(at + 2)) return -1
        if (load<u16>(at + 2) == 0x3030 && is((digitOf(at + 4) << 4) | digitOf(at + 5), LETTER)) seen = SUBJECTS
        at += 6
      }
      const size = at - start
      at++
      const word = size <= LONGEST_WORD ? wordAt(start, size) : 0
      if (next == NAME || next == NAME_OR_END) {
        at = behindSpace(at)
        if (load<u8>(at) != 0x3a) return -1
        at = behindSpace(at + 1)
        const opens: u32 = load<u8>(at)
        if (depth == 0) {
          if (escaped || fields == MOST_FIELDS || isThere(fields, start, size)) return -1
          const span = SPANS + (<usize>fields << 4)
          store<u32>(span, <u32>(start - 1 - TEXT))
          store<u32>(span, <u32>(start + size + 1 - TEXT), 4)
          store<u32>(span, <u32>(at - TEXT), 8)
          fields++
        }
        if (word != 0 && depth < data) {
          seen |= word & SUBJECTS
          if ((word & ITEM) != 0 && depth == 2) {
            if (opens == 0x7b) item = true
            else otherItem = true
          }
          if ((word & DATA) != 0 || ((word & DATA_WITHIN) != 0 && depth > 0)) {
            if (opens == 0x7b || opens == 0x5b) data = depth + 1
          }
        }
        next = VALUE
        continue
      }
      if (next > VALUE_OR_END || depth < 0) return -1
      if (depth == 1) holds &= ~(1 << (fields - 1))
      if (depth < data) seen |= (word >> AS_VALUE) & SUBJECTS
    } else if (byte == 0x2c) {
      if (next != COMMA_OR_END || depth < 0) return -1
      next = load<u8>(CLOSERS + depth) == 0x7d ? NAME : VALUE
      at++
      continue
    } else if (byte == 0x7b || byte == 0x5b) {
      if (next > VALUE_OR_END || (depth < 0 && byte != 0x7b)) return -1
      if (++depth == NESTING) return -1
      store<u8>(CLOSERS + depth, byte + 2)
      at++
      if (byte == 0x7b) {
        if (depth == 2) {
          item = false
          otherItem = false
        }
        next = NAME_OR_END
      } else {
        if (depth == 1) holds |= 1 << (fields - 1)
        else if (depth == 2) holds &= ~(1 << (fields - 1))
        next = VALUE_OR_END
      }
      continue
    } else if (byte == 0x7d || byte == 0x5d) {
      if (depth < 0 || load<u8>(CLOSERS + depth) != byte) return -1
      if (next != COMMA_OR_END && next != (byte == 0x7d ? NAME_OR_END : VALUE_OR_END)) return -1
      at++
      if (depth == 2 && byte == 0x7d && (!item || otherItem)) holds &= ~(1 << (fields - 1))
      if (depth == data) data = NESTING
      if (depth-- == 0) {
        store<u32>(TOLD, seen)
        store<u32>(TOLD, holds, 4)
        return behindSpace(at) == end ? fields : -1
      }
    } else {
      if (next > VALUE_OR_END || depth < 0) return -1
      at = behindScalar(at)
      if (at == 0) return -1
      if (depth == 1) holds &= ~(1 << (fields - 1))
    }
    if (depth == 0) store<u32>(SPANS + (<usize>(fields - 1) << 4), <u32>(at - TEXT), 12)
    next = COMMA_OR_END
  }
}

// @ts-ignore: an annotation of AssemblyScript
@inline
function is(byte: u32, kind: u32): bool {
  return (load<u8>(CLASSES + byte) & kind) != 0
}

// @ts-ignore: an annotation of AssemblyScript
@inline
function behindSpace(at: usize): usize {
  while (load<u8>(at) <= 0x20 && is(load<u8>(at), SPACE)) at++
  return at
}

/** Words by length, first and last letter: one number tells of most strings that they are none. */
// @ts-ignore: an annotation of AssemblyScript
@inline
function wordAt(start: usize, size: usize): u32 {
  const slot: u32 = load<u8>(
    SLOTS + ((size << 10) | ((load<u8>(start) & 31) << 5) | (load<u8>(start + size - 1) & 31)),
  )
  return slot == 0 ? 0 : wordIn(slot, start, size)
}

/** The bits of the word, among those of one slot, that stands there. */
function wordIn(slot: u32, start: usize, size: usize): u32 {
  for (let place = slot; place != 0; ) {
    const word = WORDS + <usize>place * WORD_BYTES
    let i: usize = 0
    while (i < size && load<u8>(word + i) == load<u8>(start + i)) i++
    if (i == size) return load<u32>(word, 36)
    place = load<u8>(word, 32)
  }
  return 0
}

function isThere(fields: i32, start: usize, size: usize): bool {
  for (let field = 0; field < fields; field++) {
    const span = SPANS + (<usize>field << 4)
    const name = TEXT + load<u32>(span) + 1
    if (TEXT + load<u32>(span, 4) - name - 1 != size) continue
    let i: usize = 0
    while (i < size && load<u8>(name + i) == load<u8>(start + i)) i++
    if (i == size) return true
  }
  return false
}

function isHex(at: usize): bool {
  return is(load<u8>(at), HEX) && is(load<u8>(at + 1), HEX) && is(load<u8>(at + 2), HEX) && is(load<u8>(at + 3), HEX)
}

function digitOf(at: usize): u32 {
  const digit: u32 = load<u8>(at)
  return digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57
}

/** 0: there is no number, true, false or null. */
function behindScalar(at: usize): usize {
  const four = load<u32>(at)
  // `true`, `null` and the beginning of `false`, as a machine with the low byte first reads them.
  if (four == 0x65757274 || four == 0x6c6c756e) return at + 4
  if (four == 0x736c6166) return load<u8>(at + 4) == 0x65 ? at + 5 : 0
  if (load<u8>(at) == 0x2d) at++
  const start = at
  at = behindDigits(at)
  // No zero stands before other digits.
  if (at == 0 || (load<u8>(start) == 0x30 && at > start + 1)) return 0
  if (load<u8>(at) == 0x2e) {
    at = behindDigits(at + 1)
    if (at == 0) return 0
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    const sign: u32 = load<u8>(at + 1)
    at = behindDigits(at + (sign == 0x2b || sign == 0x2d ? 2 : 1))
  }
  return at
}

function behindDigits(at: usize): usize {
  const start = at
  while (is(load<u8>(at), DIGIT)) at++
  return at == start ? 0 : at
}
