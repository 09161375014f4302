import { createHmac, randomBytes } from 'node:crypto'

/** `whsec_` and 32 bytes in base64 (https://www.standardwebhooks.com, "Signature scheme"). */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** The headers of a delivery: one signature per secret, so that the receiver may know either. */
export function signed(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
