import { timingSafeEqual } from 'node:crypto'

/**
 * Compares a secret in constant time, as text: the same bytes have several spellings (padding, base64's last bits, hex
 * case), and only the issued one is valid.
 */
export function isSameText(actual: string, expected: string): boolean {
  const [one, other] = [Buffer.from(actual), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
