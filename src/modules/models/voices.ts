import type { z } from 'zod'
import type { HasVoices } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import type { Voice } from './contract-voices.ts'
import { hasWords, sortedBy, speaks } from './lists.ts'

export type ShownVoice = z.output<typeof Voice>

export interface VoiceFilters {
  q?: string | undefined
  provider?: string | undefined
  language?: string | undefined
  gender?: NonNullable<ShownVoice['gender']> | undefined
  style?: string | undefined
  model?: string | undefined
  sort?: 'name' | 'provider' | undefined
  order?: 'asc' | 'desc' | undefined
}

export async function voicesFor(ctx: Context<HasVoices>): Promise<ShownVoice[]> {
  const voices = await ctx.engine.voices.of(ctx.principal)
  return voices.map(({ id, slug, name, provider, languages, gender, styles, previewUrl, models, createdAt }) => ({
    id,
    slug,
    name,
    provider,
    languages: [...languages],
    gender,
    styles: [...styles],
    preview_url: previewUrl,
    models: [...models],
    created_at: createdAt,
  }))
}

/** Filters and sorts voices. A voice with an unknown value doesn't match a filter on it. */
export function searchVoices(voices: readonly ShownVoice[], filters: VoiceFilters): ShownVoice[] {
  const { q, provider, language, gender, style, model, sort = 'name', order = 'asc' } = filters
  const found = voices.filter(
    (voice) =>
      hasWords(`${voice.slug} ${voice.name}`, q) &&
      (provider === undefined || voice.provider === provider) &&
      speaks(voice.languages, language) &&
      (gender === undefined || voice.gender === gender) &&
      (style === undefined || voice.styles.some((one) => one.toLowerCase() === style.toLowerCase())) &&
      (model === undefined || voice.models.includes(model)),
  )
  return sortedBy(found, (voice) => (sort === 'provider' ? voice.provider : voice.name.toLowerCase()), order === 'desc')
}
