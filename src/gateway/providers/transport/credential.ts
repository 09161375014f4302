import { hash } from 'node:crypto'
import type { ProviderEndpoint } from '../../model/offer.ts'

/** Contains no secret. Connections are only reused for the same identifier; a replaced key changes it. */
export const credentialOf = ({ id, apiKey, headers }: Pick<ProviderEndpoint, 'id' | 'apiKey' | 'headers'>): string =>
  `${id} ${hash('sha256', JSON.stringify([apiKey, headers]))}`
