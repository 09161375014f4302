import { cloud } from '../provider.ts'
import { vertexTransport } from '../transport/vertex.ts'

export const vertex = cloud('vertex', 'Google Vertex AI', 'VERTEX', null, {
  shape: 'gemini',
  lists: false,
  // The key is exchanged for access tokens, which are sent instead.
  keyHeader: null,
  transport: vertexTransport,
  wraps: true,
  fetchesNothing: true,
  // Each vendor's models have their own shape; an endpoint has one.
  serves: (shape, model) =>
    shape === 'anthropic-messages' ? model.includes('claude') : !/claude|nova|llama/.test(model),
  unknown: ['reportsCost', 'betas taken', 'price tiers'],
})
