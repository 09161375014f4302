import { z } from 'zod'
import { endpoint, idOut, page, results, time } from '#core/contract.ts'

const gender = z.enum(['female', 'male', 'neutral'])

export const Voice = z
  .object({
    id: idOut.describe('Derived from the owner of the endpoint and the slug.'),
    slug: z.string().describe('`provider/voice`.'),
    name: z.string(),
    provider: z.string().describe('The slug of the provider that has it.'),
    languages: z.array(z.string()).describe('BCP 47. Empty: not known, or whatever the text is in.'),
    gender: gender.nullable().describe('Null: nobody says.'),
    styles: z.array(z.string()),
    preview_url: z.string().nullable(),
    models: z.array(z.string()).describe('The models that speak with it, by slug.'),
    created_at: time,
  })
  .meta({ id: 'Voice' })

/** `shared`: the filters that models have too. */
export function voiceEndpoints<P extends z.ZodType, Q extends z.ZodType, L extends z.ZodType>(shared: {
  provider: P
  q: Q
  language: L
}) {
  const { provider, q, language } = shared
  const filters = {
    q,
    provider,
    language,
    gender: gender.optional(),
    style: z.string().min(1).max(64).optional().describe('As `styles` has it.'),
    model: z.string().min(1).max(300).optional().describe('The slug of a model that speaks with it.'),
    sort: z.enum(['name', 'provider']).optional().describe('Default: name.'),
    order: z.enum(['asc', 'desc']).optional().describe('Default: asc.'),
  }
  return {
    voices: endpoint('GET /audio/voices', {
      summary: 'List voices that you can speak with',
      description:
        'Of the providers that serve you, by slug: their own, those of your account there, and those of this server. What a provider has to be asked for is kept for an hour.',
      scope: 'model:read',
      query: { provider, language, gender: gender.optional() },
      reply: page(Voice),
    }),
    search_voices: endpoint('GET /audio/voices/search', {
      summary: 'Search voices by gender, language, provider and style',
      scope: 'model:read',
      query: filters,
      reply: results(Voice, filters),
      limit: 'searches',
    }),
  }
}
