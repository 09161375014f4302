import { timingSafeEqual } from 'node:crypto'

/**
 * Whether a secret that was given is the expected one, as text, in a time that tells nothing of where they differ. Bytes
 * have several spellings (padding, the last bits of base64, the case of hex); only the one that was handed out counts.
 */
export function isSameText(actual: string, expected: string): boolean {
  const [one, other] = [Buffer.from(actual), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
