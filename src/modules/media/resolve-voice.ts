import type { HasVoices } from '#modules/ai-gateway/service.ts'
import type { MediaCandidate } from '#gateway/media/gateway.ts'
import { checkCharacters } from '#gateway/media/cost/limits.ts'
import { Refusal } from '#core/errors.ts'
import type { MediaAsk } from './ask.ts'

/**
 * Resolves the voice to the provider's name. Refuses a missing voice (`voice`) and a text over the model's limit
 * (`input`).
 */
export async function resolveVoice({ voices }: HasVoices, { offer }: MediaCandidate, ask: MediaAsk): Promise<MediaAsk> {
  const { request } = ask
  if (request.kind !== 'speech') return ask
  checkCharacters(request.input, offer)
  if (request.voice === null) return ask
  return { ...ask, request: { ...request, voice: await voices.voiceFor(offer, request.voice) } }
}

/** Refusals of these fields depend on the provider. */
const providersOwn: ReadonlySet<string | undefined> = new Set(['voice', 'input', 'seconds'])

export const anotherMay = (error: unknown): error is Refusal =>
  error instanceof Refusal && (error.type === 'payment_required' || providersOwn.has(error.param))

/** Refuses if every candidate does. */
export async function checkVoice(
  engine: HasVoices,
  candidates: readonly MediaCandidate[],
  ask: MediaAsk,
): Promise<void> {
  let refusal: Refusal | null = null
  for (const candidate of candidates)
    try {
      await resolveVoice(engine, candidate, ask)
      return
    } catch (error) {
      if (!anotherMay(error)) throw error
      refusal ??= error
    }
  if (refusal !== null) throw refusal
}
