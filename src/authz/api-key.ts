import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

// An API key: `uk_`, 43 random base62 characters, and their CRC-32 in 6 more (contract, part 4). The checksum rejects
// typos and made-up keys without a query and helps scanners find leaked keys.
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SHAPE = /^uk_[0-9A-Za-z]{49}$/

export function newSecret(): string {
  const random = randomBase62(43)
  return `uk_${random}${checksum(random)}`
}

export const randomBase62 = (length: number): string => Array.from({ length }, () => DIGITS[randomInt(62)]).join('')

export const isWellFormed = (secret: string): boolean =>
  SHAPE.test(secret) && checksum(secret.slice(3, 46)) === secret.slice(46)

/** Only the hash is stored. 256 random bits need neither a salt nor a slow hash. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

function checksum(random: string): string {
  let rest = crc32(random)
  let out = ''
  for (let i = 0; i < 6; i++) {
    out = DIGITS[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}
