import { randomBytes } from 'node:crypto'
import type { Engine } from '#infra/context.ts'
import { hashSecret } from './api-key.ts'

/** A secret whose holder may claim something sent to an email address. The database stores its hash. */
export interface ClaimToken {
  token: string
  hash: Buffer
}

export function newClaimToken(): ClaimToken {
  const token = randomBytes(32).toString('base64url')
  return { token, hash: hashSecret(token) }
}

/** The app's page that takes the token. After `#`, which browsers don't send to servers. */
export const claimLink = ({ origin }: Pick<Engine, 'origin'>, token: string): string =>
  `${origin()}/app/invitations#token=${token}`
