import { cloud } from '../provider.ts'
import { vertexTransport } from '../transport/vertex.ts'

export const vertex = cloud('vertex', 'Google Vertex AI', 'VERTEX', null, {
  shape: 'gemini',
  lists: false,
  // Tokens are got with the key, and sent in its place.
  keyHeader: null,
  transport: vertexTransport,
  wraps: true,
  fetchesNothing: true,
  // Each house's models in its own shape; an endpoint has one.
  serves: (shape, model) =>
    shape === 'anthropic-messages' ? model.includes('claude') : !/claude|nova|llama/.test(model),
  unknown: ['reportsCost', 'betas taken', 'price tiers'],
})
