import { local } from '../provider.ts'

// Address: localai.io, API reference.
export const localAi = local('local-ai', 'LocalAI', 'http://127.0.0.1:8080/v1', {
  engine: {
    // core/http/endpoints/openai/list_capabilities.go: a list of its own, which nobody else has. The one that OpenAI has
    // bears no mark there.
    list: { path: '/models/capabilities', beside: 'base' },
    isIts: ({ object, capabilities = [] }) => object === 'model' && Array.isArray(capabilities),
    read: ({ capabilities = [] }) => ({ embeds: (capabilities as unknown[]).includes('embeddings') }),
  },
  // Who speaks is a matter of the model: nobody is named.
  media: { speech: { voice: null } },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
