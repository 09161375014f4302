import type { HasVoices } from '#areas/ai-gateway/service.ts'
import type { MediaCandidate } from '#gateway/media/gateway.ts'
import { Refusal } from '#kernel/errors.ts'
import type { MediaAsk } from './ask.ts'

/**
 * The call with its voice as this provider calls it, whether it was named by its slug, its id or the provider's own name.
 * Refuses (`voice`) one that the provider lacks.
 */
export async function voiced({ voices }: HasVoices, { offer }: MediaCandidate, ask: MediaAsk): Promise<MediaAsk> {
  const { request } = ask
  if (request.kind !== 'speech' || request.voice === null) return ask
  return { ...ask, request: { ...request, voice: await voices.voiceFor(offer, request.voice) } }
}

/** Whether this provider lacks what another may have: the voice, or a price that can be held. */
export const anotherMay = (error: unknown): error is Refusal =>
  error instanceof Refusal && (error.type === 'payment_required' || error.param === 'voice')

/** Refuses a voice that no candidate has. */
export async function checkVoice(
  engine: HasVoices,
  candidates: readonly MediaCandidate[],
  ask: MediaAsk,
): Promise<void> {
  let refusal: Refusal | null = null
  for (const candidate of candidates)
    try {
      await voiced(engine, candidate, ask)
      return
    } catch (error) {
      if (!anotherMay(error)) throw error
      refusal ??= error
    }
  if (refusal !== null) throw refusal
}
