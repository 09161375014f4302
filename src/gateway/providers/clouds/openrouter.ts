import { ANTHROPIC_FORMAT } from '../../wire/anthropic-messages/signature.ts'
import { GEMINI_FORMAT } from '../../wire/parts/gemini-signature.ts'
import { RESPONSES_FORMAT } from '../../wire/openai-responses/sealed.ts'
import { bothLimits } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

/** The reasoning format of each author's models, by OpenRouter's name of the author. */
const byAuthor: Readonly<Record<string, string>> = {
  anthropic: ANTHROPIC_FORMAT,
  google: GEMINI_FORMAT,
  openai: RESPONSES_FORMAT,
}

// Address: `@openrouter/ai-sdk-provider` 3.1.0.
export const openrouter = cloud('openrouter', 'OpenRouter', 'OPENROUTER', 'https://openrouter.ai/api/v1', {
  // `usage.cost` and `GET /key`: its OpenAPI description of 2026-08-22.
  reportsCost: true,
  keyCheck: '/key',
  relays: true,
  pricedApart: ['models', 'plugins'],
  chat: [
    // openrouter.ai/docs, OpenAPI of 2026-08-22.
    { reasoning: 'object', openrouter: true, openai: true, topK: true, ...bothLimits },
    // The role `developer` is rejected for most other authors' models: pi-ai 1.5.2.
    { model: /^~?(?:openai|anthropic)\//, developer: true },
  ],
  thoughtsOf: (upstreamModel) => byAuthor[upstreamModel.split('/')[0]!],
  unknown: ['refused fields', 'price tiers'],
})
