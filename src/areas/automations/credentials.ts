import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `ukw_` and 43 characters of base62, 256 bits. */
export function newToken(): string {
  let token = 'ukw_'
  while (token.length < 47)
    for (const byte of randomBytes(64)) if (byte < 248 && token.length < 47) token += ALPHABET[byte % 62]
  return token
}

/** `whsec_` and 32 bytes in base64 (https://www.standardwebhooks.com, "Signature scheme"). */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

export const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer')

export const isToken = (given: string, hashes: readonly Buffer[]): boolean => {
  const own = hashOf(given)
  return hashes.some((known) => timingSafeEqual(own, known))
}

/** How far the sender's clock may be off (Standard Webhooks, "Verifying webhook authenticity"). */
const TOLERANCE_SECONDS = 300

export interface Signed {
  id: string
  /** Seconds since 1970, as it was sent. */
  timestamp: string
  /** `v1,<base64>`, several apart by spaces. */
  signature: string
  body: Buffer
}

/** Whether one of the secrets made one of the signatures, over the raw body, not long ago. */
export function isSigned({ id, timestamp, signature, body }: Signed, secrets: readonly string[], now: Date): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const given = signature
    .split(' ')
    .filter((each) => each.startsWith('v1,'))
    .slice(0, 20)
    .map((each) => Buffer.from(each.slice(3), 'base64'))
  return secrets.some((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const own = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
    return given.some((each) => each.length === own.length && timingSafeEqual(each, own))
  })
}
