import { refuse } from '#core/errors.ts'
import type { Nano } from '#core/money.ts'
import type { MediaOffer } from '../../model/offer.ts'
import type { MediaRequest } from '../adapter.ts'
import { worstCase } from './price.ts'
import { charactersOf } from '../request-fields.ts'

export function checkCharacters(input: string, { slug, media: { abilities } }: MediaOffer): void {
  const most = abilities.kind === 'speech' ? abilities.max_characters : null
  if (most === null) return
  const count = charactersOf(input)
  if (count > most)
    refuse('invalid_parameter', {
      param: 'input',
      message: `\`input\` has ${count} characters, and \`${slug}\` accepts up to ${most}. Shorten it, or split it into several requests.`,
      details: { limit: most, characters: count },
    })
}

/**
 * Under a cap or balance, a video priced by length without `seconds` is refused with that field: the model has a price,
 * only the length is missing.
 */
export function amountToHold(request: MediaRequest, offer: MediaOffer, isGuarded: boolean): Nano | null {
  const worst = worstCase(request, offer)
  if (worst !== null || !isGuarded || request.kind !== 'video' || request.seconds !== null) return worst
  if (worstCase({ ...request, seconds: 1 }, offer) === null) return null
  return refuse('missing_parameter', {
    param: 'seconds',
    message: `\`seconds\` is required, because the price of \`${offer.slug}\` depends on the length of the video.`,
  })
}
