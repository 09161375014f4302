import type { HasVoices } from '#modules/ai-gateway/service.ts'
import type { Engine } from '#infra/context.ts'
import type { MeteredCall, Payer } from '#infra/ledger/ledger.ts'
import type { MediaCandidate } from '#gateway/media/gateway.ts'
import { amountToHold } from '#gateway/media/cost/limits.ts'
import type { Refusal } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { type Inputs, type MediaAsk, requestFor } from '../ask.ts'
import { anotherMay, resolveVoice } from '../resolve-voice.ts'

/**
 * Refuses a call that no candidate could be paid for, before accepting it. Reserves nothing: the job does so when it
 * starts.
 */
export async function checkPayable(
  engine: Engine<HasVoices>,
  { ask, payer, inputs }: { ask: MediaAsk; payer: Payer; inputs: Inputs },
  candidates: readonly MediaCandidate[],
): Promise<void> {
  const { ledger } = engine
  let refusal: Refusal | null = null
  for (const candidate of candidates)
    try {
      const { offer } = candidate
      const { billing } = offer.endpoint
      if (!ledger.isGuarded(payer, billing)) return
      const askWithVoice = await resolveVoice(engine, candidate, ask)
      const request = requestFor(
        askWithVoice,
        offer.upstreamModel,
        inputs,
        ask.request.kind === 'image' ? ask.request.n : 1,
      )
      const call = callFor(candidate, payer)
      await ledger.reserve(call, amountToHold(request, offer, true))
      ledger.release(call)
      return await ledger.flush()
    } catch (error) {
      if (!anotherMay(error)) throw error
      refusal ??= error
    }
  if (refusal !== null) throw refusal
}

const callFor = ({ offer: { slug, endpoint } }: MediaCandidate, payer: Payer): MeteredCall => ({
  id: newId(),
  payer,
  surface: 'inference',
  model: slug,
  provider: endpoint.slug,
  endpointId: endpoint.id,
  billing: endpoint.billing,
  startedAt: new Date(),
})
