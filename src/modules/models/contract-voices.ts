import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { endpoint, idOut, page, results, time } from '#core/contract.ts'

const gender = z.enum(['female', 'male', 'neutral'])

export const Voice = z
  .object({
    id: idOut.describe('Derived from the endpoint’s owner and the slug.'),
    slug: z.string().describe('`provider/voice`.'),
    name: z.string(),
    provider: z.string().describe('The slug of the voice’s provider.'),
    languages: z.array(z.string()).describe('BCP 47 tags. Empty: unknown, or the language of the text.'),
    gender: gender.nullable().describe('Null: unknown.'),
    styles: z.array(z.string()),
    preview_url: z.string().nullable(),
    models: z.array(z.string()).describe('The slugs of the models that support the voice.'),
    created_at: time,
  })
  .meta({ id: 'Voice' })

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
    style: z.string().min(1).max(64).optional().describe('One of the values in `styles`.'),
    model: z.string().min(1).max(300).optional().describe('The slug of a model that supports the voice.'),
    sort: z.enum(['name', 'provider']).optional().describe('Default: name.'),
    order: z.enum(['asc', 'desc']).optional().describe('Default: asc.'),
  }
  return {
    voices: endpoint('GET /audio/voices', {
      summary: 'List the available voices',
      description:
        'Voices of your providers, of your accounts there, and of this server, by slug. Provider voice lists are cached for one hour.',
      access: byScope('model:read'),
      query: { provider, language, gender: gender.optional() },
      reply: page(Voice),
    }),
    search_voices: endpoint('GET /audio/voices/search', {
      summary: 'Search voices by gender, language, provider and style',
      access: byScope('model:read'),
      query: filters,
      reply: results(Voice, filters),
      limit: 'searches',
    }),
  }
}
