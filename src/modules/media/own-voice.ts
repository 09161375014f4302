import type { HasVoices } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import { speaks } from '#infra/media/speech/voice.ts'

/** The server's own voice, for who names neither a model nor a voice or language that it lacks. */
const USUAL = 'local/flite'

interface Named {
  model?: string | undefined
  voice?: string | undefined
  language?: string | undefined
}

/**
 * The model that speaks where none is named: of the server's own engines the one that has the voice, or speaks the language;
 * where none does the usual one, which says so.
 */
export async function modelFor(ctx: Context<HasVoices>, { model, voice, language }: Named): Promise<string> {
  if (model !== undefined) return model
  if (voice === undefined && language === undefined) return USUAL
  const known = await ctx.engine.voices.of(ctx.principal)
  const fits = known.filter(
    ({ provider, slug, id, vendorId, languages }) =>
      provider === 'local' &&
      (voice === undefined
        ? languages.some((spoken) => speaks(spoken, language!))
        : [slug, id, vendorId].includes(voice)),
  )
  const models = fits.flatMap((found) => found.models)
  return models.includes(USUAL) ? USUAL : (models[0] ?? USUAL)
}
