import { timingSafeEqual } from 'node:crypto'
import { hashSecret, randomBase62 } from '#authz/api-key.ts'

/** `ukw_` and 43 characters of base62, 256 bits. */
export const newToken = (): string => `ukw_${randomBase62(43)}`

export function isToken(given: string, hashes: readonly Buffer[]): boolean {
  const own = hashSecret(given)
  return hashes.some((known) => timingSafeEqual(own, known))
}
