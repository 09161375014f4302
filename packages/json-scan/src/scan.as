/**
 * Reads UTF-8 bytes as a JSON object, as strictly as `JSON.parse` (RFC 8259), without building values. AssemblyScript,
 * compiled into `scan.wasm.ts` by `compiler/build.ts`; `json-scan.ts` describes the results and fills this memory.
 */
const CLASSES: usize = 0
const CLOSERS: usize = 256
const TOLD: usize = 1024
const SPANS: usize = 1032
const SLOTS: usize = 4096
const WORDS: usize = 36864
const WORD_BYTES: usize = 40
const LONGEST_WORD: usize = 31
/** One 64-bit set of hashed names for each open object, by depth. */
const NAME_SETS: usize = 47104
/** Where the names of each open object start in `NAMES`, by depth. */
const FIRST_NAMES: usize = 51200
/** A stack with the start and size of every name of the open objects. */
const NAMES: usize = 53248
/** At least 64 zero bytes follow the text, so every read ends. */
const TEXT: usize = 65536

const WINDOW: usize = 64
const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa

const NESTING: i32 = 512
const MOST_FIELDS: i32 = 32
/** Names compared per object. A larger object needs a full check. */
const MOST_NAMES: usize = 64
/** Longest name with letters beyond ASCII that can fold to a judged name, in bytes. */
const LONGEST_TWIN: usize = 64

// Byte classes.
const SPACE: u32 = 1
const DIGIT: u32 = 2
const HEX: u32 = 4
/** Characters of words, which could also be written as `\u00..`. */
const LETTER: u32 = 8

// The bits of a word: two sets of subjects, and flags.
const SUBJECTS: u32 = 0x3fff
/** Follows the subjects: a number has an exponent. */
const EXPONENT: u32 = 1 << 14
/** A name may equal a judged one when ignoring case, or occurs twice in its object. */
const TWIN: u32 = 1 << 15
const AS_VALUE: u32 = 14
const ITEM: u32 = 1 << 28
const DATA: u32 = 1 << 29
const DATA_WITHIN: u32 = 1 << 30
const JUDGED: u32 = 1 << 31

// Expected next.
const VALUE: i32 = 0
const VALUE_OR_END: i32 = 1
const NAME: i32 = 2
const NAME_OR_END: i32 = 3
const COMMA_OR_END: i32 = 4

let exponents: u32 = 0
/** The last string equals a judged word when ignoring case. */
let folded: bool = false

/** Returns the number of fields, or -1: not an object, or `JSON.parse` must decide. */
export function scan(length: i32): i32 {
  exponents = 0
  folded = false
  let twins: u32 = 0
  /** The end of `NAMES`. */
  let top = NAMES
  const end = TEXT + <usize>length
  const quotes = i8x16.splat(0x22)
  const backslashes = i8x16.splat(0x5c)
  const spaces = i8x16.splat(0x20)
  // One bit per byte of the last 64 searched: string ends, backslashes, and escaped bytes other than the seven simple
  // escapes.
  let base: usize = 0
  let ends: u64 = 0
  let slashes: u64 = 0
  let odd: u64 = 0
  /** The byte after them is escaped. */
  let carried: u64 = 0
  let fields: i32 = 0
  let seen: u32 = 0
  let holds: u32 = 0
  // Of the current element of a top-level array.
  let item = false
  let otherItem = false
  /** Depth of the data in which no word counts. */
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
      let escaped: u64 = 0
      let from: u64 = at - base
      let fresh = from >= WINDOW
      if (fresh) {
        base = at
        from = 0
        carried = 0
      }
      while (true) {
        if (fresh) {
          const a = v128.load(base)
          const b = v128.load(base, 16)
          const c = v128.load(base, 32)
          const d = v128.load(base, 48)
          slashes = maskOf(
            i8x16.eq(a, backslashes),
            i8x16.eq(b, backslashes),
            i8x16.eq(c, backslashes),
            i8x16.eq(d, backslashes),
          )
          ends = maskOf(
            v128.or(i8x16.eq(a, quotes), i8x16.lt_u(a, spaces)),
            v128.or(i8x16.eq(b, quotes), i8x16.lt_u(b, spaces)),
            v128.or(i8x16.eq(c, quotes), i8x16.lt_u(c, spaces)),
            v128.or(i8x16.eq(d, quotes), i8x16.lt_u(d, spaces)),
          )
          odd = 0
          if ((slashes | carried) != 0) {
            // In a run of backslashes, every second one is escaped, and the next byte if their number is odd.
            const may = slashes & ~carried
            const codes = (((may << 1) | ODD_BITS) - may) ^ ODD_BITS
            const behind = codes ^ (slashes | carried)
            carried = (codes & slashes) >> 63
            ends &= ~behind
            odd = behind & ~maskOf(isEscaped(a), isEscaped(b), isEscaped(c), isEscaped(d))
          }
        }
        const rest = ~(<u64>0) << from
        const found = ends & rest
        const before = found == 0 ? rest : rest & (found - 1)
        escaped |= slashes & before
        // `\\u` and invalid escapes.
        for (let marks = odd & before; marks != 0; marks &= marks - 1) {
          const mark = base + <usize>ctz(marks)
          if (load<u8>(mark) != 0x75 || !isHex(mark + 1)) return -1
          if (load<u16>(mark + 1) == 0x3030 && is((digitOf(mark + 3) << 4) | digitOf(mark + 4), LETTER)) seen = SUBJECTS
        }
        if (found != 0) {
          at = base + <usize>ctz(found)
          break
        }
        base += WINDOW
        from = 0
        fresh = true
      }
      if (load<u8>(at) != 0x22) return -1
      const size = at - start
      at++
      const word = size <= LONGEST_WORD ? wordAt(start, size) : 0
      if (next == NAME || next == NAME_OR_END) {
        at = behindSpace(at)
        if (load<u8>(at) != 0x3a) return -1
        at = behindSpace(at + 1)
        const opens: u32 = load<u8>(at)
        if (depth == 0) {
          if (escaped != 0 || fields == MOST_FIELDS || isThere(fields, start, size)) return -1
          const span = SPANS + (<usize>fields << 4)
          store<u32>(span, <u32>(start - 1 - TEXT))
          store<u32>(span, <u32>(start + size + 1 - TEXT), 4)
          store<u32>(span, <u32>(at - TEXT), 8)
          fields++
        }
        if (depth < data) {
          if (folded || escaped != 0 || hasHigh(start, size)) twins = TWIN
          if (depth > 0 && twins == 0) {
            const set = NAME_SETS + (<usize>depth << 3)
            const bit: u64 = <u64>1 << hashOf(start, size)
            const names = load<u64>(set)
            const first: usize = load<u32>(FIRST_NAMES + (<usize>depth << 2))
            if (top == TEXT || top - first >= MOST_NAMES << 3) twins = TWIN
            else {
              if ((names & bit) != 0 && isAmong(first, top, start, size)) twins = TWIN
              store<u64>(set, names | bit)
              store<u32>(top, <u32>start)
              store<u32>(top, <u32>size, 4)
              top += 8
            }
          }
        }
        folded = false
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
      folded = false
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
        if (depth < data) {
          store<u64>(NAME_SETS + (<usize>depth << 3), 0)
          store<u32>(FIRST_NAMES + (<usize>depth << 2), <u32>top)
        }
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
      if (byte == 0x7d && depth < data) top = load<u32>(FIRST_NAMES + (<usize>depth << 2))
      if (depth == 2 && byte == 0x7d && (!item || otherItem)) holds &= ~(1 << (fields - 1))
      if (depth == data) data = NESTING
      if (depth-- == 0) {
        store<u32>(TOLD, seen | exponents | twins)
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
function maskOf(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    <u64>i8x16.bitmask(a) |
    (<u64>i8x16.bitmask(b) << 16) |
    (<u64>i8x16.bitmask(c) << 32) |
    (<u64>i8x16.bitmask(d) << 48)
  )
}

/** Simple escapes: for each low half of a byte, one bit each for the high halves 2, 5, 6 and 7. */
// @ts-ignore: an annotation of AssemblyScript
@inline
function isEscaped(bytes: v128): v128 {
  const low = i8x16.swizzle(i8x16(0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1), v128.and(bytes, i8x16.splat(15)))
  const high = i8x16.swizzle(i8x16(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0), i8x16.shr_u(bytes, 4))
  return i8x16.ne(v128.and(low, high), i8x16.splat(0))
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

/** Words by length, first and last letter. One look-up excludes most strings. */
// @ts-ignore: an annotation of AssemblyScript
@inline
function wordAt(start: usize, size: usize): u32 {
  const slot: u32 = load<u8>(
    SLOTS + ((size << 10) | ((load<u8>(start) & 31) << 5) | (load<u8>(start + size - 1) & 31)),
  )
  return slot == 0 ? 0 : wordIn(slot, start, size)
}

/** The bits of the matching word in a slot. */
function wordIn(slot: u32, start: usize, size: usize): u32 {
  for (let place = slot; place != 0; ) {
    const word = WORDS + <usize>place * WORD_BYTES
    let i: usize = 0
    while (i < size && load<u8>(word + i) == load<u8>(start + i)) i++
    if (i == size) {
      folded = false
      return load<u32>(word, 36)
    }
    if ((load<u32>(word, 36) & JUDGED) != 0) {
      while (i < size && lower(load<u8>(word + i)) == lower(load<u8>(start + i))) i++
      if (i == size) folded = true
    }
    place = load<u8>(word, 32)
  }
  return 0
}

// @ts-ignore: an annotation of AssemblyScript
@inline
function lower(byte: u32): u32 {
  return byte - 0x41 < 26 ? byte | 0x20 : byte
}

/** Whether a short name has a byte beyond ASCII: U+017F and U+212A fold to ASCII letters. */
// @ts-ignore: an annotation of AssemblyScript
@inline
function hasHigh(start: usize, size: usize): bool {
  if (size == 0 || size > LONGEST_TWIN) return false
  let high: u64 = <u64>i8x16.bitmask(v128.load(start))
  if (size > 16)
    high |=
      (<u64>i8x16.bitmask(v128.load(start, 16)) << 16) |
      (<u64>i8x16.bitmask(v128.load(start, 32)) << 32) |
      (<u64>i8x16.bitmask(v128.load(start, 48)) << 48)
  return high << (64 - size) != 0
}

/** A hash below 64. */
// @ts-ignore: an annotation of AssemblyScript
@inline
function hashOf(start: usize, size: usize): u64 {
  const first: u32 = load<u8>(start)
  const middle: u32 = load<u8>(start + (size >> 1))
  const last: u32 = load<u8>(start + size - 1)
  return <u64>((first * 5 + middle * 11 + last * 23 + <u32>size * 7) & 63)
}

/** Whether the name is among those from `first` to `top`. */
function isAmong(first: usize, top: usize, start: usize, size: usize): bool {
  for (let name = first; name < top; name += 8) {
    if (<usize>load<u32>(name, 4) != size) continue
    const other: usize = load<u32>(name)
    let i: usize = 0
    while (i < size && load<u8>(other + i) == load<u8>(start + i)) i++
    if (i == size) return true
  }
  return false
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

/** 0: not a number, true, false or null. */
function behindScalar(at: usize): usize {
  const four = load<u32>(at)
  // `true`, `null` and the start of `false`, little-endian.
  if (four == 0x65757274 || four == 0x6c6c756e) return at + 4
  if (four == 0x736c6166) return load<u8>(at + 4) == 0x65 ? at + 5 : 0
  if (load<u8>(at) == 0x2d) at++
  const start = at
  at = behindDigits(at)
  // No leading zeros.
  if (at == 0 || (load<u8>(start) == 0x30 && at > start + 1)) return 0
  if (load<u8>(at) == 0x2e) {
    at = behindDigits(at + 1)
    if (at == 0) return 0
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    exponents = EXPONENT
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
