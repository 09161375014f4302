import type { Payer } from '#infra/ledger/ledger.ts'
import type { Offer } from '../../model/offer.ts'
import { isSimulated } from '../../sim/offers.ts'

/**
 * The payer of a call that this offer serves. Members of a team that others own try the simulated models without credits:
 * the call still has its price and counts under caps, but takes nothing from the balance.
 */
export const payerFor = (payer: Payer, offer: Offer): Payer =>
  payer.invited === true && isSimulated(offer) ? { ...payer, tier: 'unlimited' } : payer
