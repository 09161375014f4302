import { createHash, randomFillSync } from 'node:crypto'

/**
 * IDs are ULIDs (https://github.com/ulid/spec): 48 bits of milliseconds, 80 random bits, Crockford base32, upper case.
 */
export type Id = string

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const SHAPE = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i

// Encodes two digits at a time, because every request creates IDs.
const PAIRS = Array.from({ length: 1024 }, (_, i) => ALPHABET[i >> 5]! + ALPHABET[i & 31]!)

const chance = Buffer.alloc(4096)
let unread = 0
let lastMs = 0
const tail = new Uint8Array(16)

/** IDs from one process strictly increase, even within a millisecond or when the clock steps back. */
export function newId(nowMs: number = Date.now()): Id {
  if (nowMs > lastMs) {
    lastMs = nowMs
    drawTail()
  } else if (!increment()) {
    lastMs += 1
    drawTail()
  }
  return encodeTime(lastMs) + encodeTail()
}

export function idOf(...words: string[]): Id {
  const hash = createHash('sha256').update(words.join('\0')).digest()
  let out = ALPHABET[hash[0]! & 7]!
  for (let i = 1; i < 26; i++) out += ALPHABET[hash[i]! & 31]
  return out
}

export const idAt = (ms: number, ...words: string[]): Id => encodeTime(Math.floor(ms)) + idOf(...words).slice(-16)

/** Returns the ID in its stored form, or null. Accepts lower case. */
export const parseId = (words: string): Id | null => (SHAPE.test(words) ? words.toUpperCase() : null)

export function timeOf(id: Id): number {
  let ms = 0
  for (let i = 0; i < 10; i++) ms = ms * 32 + ALPHABET.indexOf(id[i]!)
  return ms
}

/** The smallest ID for this millisecond: IDs created from then on sort after it. */
export const firstIdAt = (ms: number): Id => encodeTime(ms) + '0'.repeat(16)

function drawTail(): void {
  if (unread < 16) {
    randomFillSync(chance)
    unread = chance.length
  }
  for (let i = 0; i < 16; i++) tail[i] = chance[unread - 16 + i]! & 31
  unread -= 16
}

function increment(): boolean {
  for (let i = 15; i >= 0; i--) {
    if (tail[i]! < 31) {
      tail[i]! += 1
      return true
    }
    tail[i] = 0
  }
  return false
}

let encodedMs = -1
let encodedTime = ''

function encodeTime(ms: number): string {
  if (ms === encodedMs) return encodedTime
  encodedMs = ms
  encodedTime = ''
  for (let i = 0; i < 5; i++) {
    encodedTime = PAIRS[ms % 1024]! + encodedTime
    ms = Math.floor(ms / 1024)
  }
  return encodedTime
}

function encodeTail(): string {
  let out = ''
  for (let i = 0; i < 16; i += 2) out += PAIRS[(tail[i]! << 5) | tail[i + 1]!]
  return out
}
