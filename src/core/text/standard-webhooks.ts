/** Standard Webhooks (https://www.standardwebhooks.com), sending and verifying. */
import { createHmac, randomBytes } from 'node:crypto'
import { isSameText } from './same-text.ts'

/** `whsec_` plus 32 bytes in base64 ("Signature scheme"). */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

export function signWebhook(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => signatureOf(secret, id, timestamp, Buffer.from(body)))
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

/** Clock tolerance ("Verifying webhook authenticity"). */
const TOLERANCE_SECONDS = 300

export interface SignedRequest {
  id: string
  timestamp: string
  /** `v1,<base64>`, space-separated. */
  signature: string
  body: Buffer
}

export function isSigned(
  { id, timestamp, signature, body }: SignedRequest,
  secrets: readonly string[],
  now: Date,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const signatures = signature
    .split(' ')
    .filter((each) => each.startsWith('v1,'))
    .slice(0, 20)
  return secrets.some((secret) => {
    const own = signatureOf(secret, id, timestamp, body)
    return signatures.some((each) => isSameText(each, own))
  })
}

const signatureOf = (secret: string, id: string, timestamp: string, body: Buffer): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest('base64')}`
