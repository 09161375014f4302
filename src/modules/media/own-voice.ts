import type { HasVoices } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import { speaks } from '#packages/media-tools/speech/voice.ts'

/** The default model. */
const USUAL = 'local/flite'

interface SpeechChoice {
  model?: string | undefined
  voice?: string | undefined
  language?: string | undefined
}

/**
 * Picks the default model: a built-in engine with the voice or language, otherwise `USUAL`, which then refuses them.
 */
export async function modelFor(ctx: Context<HasVoices>, { model, voice, language }: SpeechChoice): Promise<string> {
  if (model !== undefined) return model
  if (voice === undefined && language === undefined) return USUAL
  const voices = await ctx.engine.voices.of(ctx.principal)
  const fits = voices.filter(
    ({ provider, slug, id, vendorId, languages }) =>
      provider === 'local' &&
      (voice === undefined
        ? languages.some((languageTag) => speaks(languageTag, language!))
        : [slug, id, vendorId].includes(voice)),
  )
  const models = fits.flatMap((match) => match.models)
  return models.includes(USUAL) ? USUAL : (models[0] ?? USUAL)
}
