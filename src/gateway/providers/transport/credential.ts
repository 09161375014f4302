import { hash } from 'node:crypto'
import type { ProviderEndpoint } from '../../model/offer.ts'

/**
 * An endpoint and the credential that it is asked with, in words that hold no secret: connections are lent on within
 * these. A key that was replaced has others.
 */
export const credentialOf = ({ id, apiKey, headers }: Pick<ProviderEndpoint, 'id' | 'apiKey' | 'headers'>): string =>
  `${id} ${hash('sha256', JSON.stringify([apiKey, headers]))}`
