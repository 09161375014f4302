import type { HasVoices } from '#modules/ai-gateway/service.ts'
import type { MediaCandidate } from '#gateway/media/gateway.ts'
import { checkCharacters } from '#gateway/media/cost/limits.ts'
import { Refusal } from '#core/errors.ts'
import type { MediaAsk } from './ask.ts'

/**
 * The call with its voice as this provider calls it, whether it was named by its slug, its id or the provider's own name.
 * Refuses (`voice`) one that the provider lacks, and (`input`) a text longer than its model takes.
 */
export async function voiced({ voices }: HasVoices, { offer }: MediaCandidate, ask: MediaAsk): Promise<MediaAsk> {
  const { request } = ask
  if (request.kind !== 'speech') return ask
  checkCharacters(request.input, offer)
  if (request.voice === null) return ask
  return { ...ask, request: { ...request, voice: await voices.voiceFor(offer, request.voice) } }
}

/** Fields whose refusal depends on the provider: its voices, the longest text it takes, and whether its price needs a length. */
const providersOwn: ReadonlySet<string | undefined> = new Set(['voice', 'input', 'seconds'])

/** Whether another provider may serve what this one refuses. */
export const anotherMay = (error: unknown): error is Refusal =>
  error instanceof Refusal && (error.type === 'payment_required' || providersOwn.has(error.param))

/** Refuses a voice that no candidate has, and a text that is too long for each of them. */
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
