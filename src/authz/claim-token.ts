import { randomBytes } from 'node:crypto'
import type { Engine } from '#infra/context.ts'
import { hashSecret } from './api-key.ts'

/** A secret whose holder gets what was promised to an address. The database keeps its hash. */
export interface ClaimToken {
  token: string
  hash: Buffer
}

/** 256 random bits. */
export function newClaimToken(): ClaimToken {
  const token = randomBytes(32).toString('base64url')
  return { token, hash: hashSecret(token) }
}

/** The app's page that takes a token. Behind `#`, which browsers send to nobody. */
export const claimLink = ({ origin }: Pick<Engine, 'origin'>, token: string): string =>
  `${origin()}/app/invitations#token=${token}`
