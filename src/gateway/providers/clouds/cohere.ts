import { cloud } from '../provider.ts'

// Address: docs.cohere.com, compatibility API.
export const cohere = cloud('cohere', 'Cohere', 'COHERE', 'https://api.cohere.ai/compatibility/v1', {
  // strandsagents.com, Cohere: the compatibility API rejects `stream_options`.
  chat: [{ streamOptions: false }],
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
