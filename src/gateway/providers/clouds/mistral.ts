import { mistralOrder } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

// Address: pi-ai 1.5.2 for the host; `/v1` from Mistral's guide for OpenAI-compatible clients.
export const mistral = cloud('mistral', 'Mistral', 'MISTRAL', 'https://api.mistral.ai/v1', {
  chat: [
    // `Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9`: anomalyco/opencode#1680. Efforts: pi-ai 1.5.2.
    // `extra_forbidden` for `reasoning_content`: charmbracelet/crush#1590.
    { callIds: 'nine', efforts: ['none', 'high'], refusesReasoning: true, order: mistralOrder },
    { model: /mistral-large-4/, efforts: ['low', 'medium', 'high'] },
    { model: /glm-5-3/, efforts: ['low', 'high', 'max'] },
  ],
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
