import { shorten } from '#core/text/shorten.ts'
import type { Loss } from '../model/canonical-request.ts'

const MAX_NAMES = 32

/** Names of unknown fields are the client's own text. */
export const lossesHeader = (losses: readonly Loss[]): string =>
  losses
    .slice(0, MAX_NAMES)
    .map((name) => shorten(name, 64).replaceAll(/[^\w.-]/g, '_'))
    .join(', ')
