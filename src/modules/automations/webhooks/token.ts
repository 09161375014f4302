import { timingSafeEqual } from 'node:crypto'
import { hashSecret, randomBase62 } from '#authz/api-key.ts'

/** 256 bits of base62. */
export const newToken = (): string => `ukw_${randomBase62(43)}`

export function isToken(token: string, hashes: readonly Buffer[]): boolean {
  const own = hashSecret(token)
  return hashes.some((hash) => timingSafeEqual(own, hash))
}
