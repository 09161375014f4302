import type { Payer } from '#infra/ledger/ledger.ts'
import type { Offer } from '../../model/offer.ts'
import { isSimulated } from '../../sim/offers.ts'

/**
 * Members of a team owned by others can try the simulated models without credits: the call counts toward caps, but
 * isn't charged.
 */
export const payerFor = (payer: Payer, offer: Offer): Payer =>
  payer.invited === true && isSimulated(offer) ? { ...payer, tier: 'unlimited' } : payer
