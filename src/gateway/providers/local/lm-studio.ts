import { local } from '../provider.ts'

// Address: lmstudio.ai, OpenAI compatibility.
export const lmStudio = local('lm-studio', 'LM Studio', 'http://127.0.0.1:1234/v1', {
  engine: {
    // Its own route has more data than `/v1/models`, and no other server has it (lmstudio.ai, REST API v0).
    list: { path: '/api/v0/models', beside: 'v1' },
    isIts: ({ type, state }) => ['llm', 'vlm', 'embeddings'].includes(String(type)) && typeof state === 'string',
    read: ({ type }) => ({ capabilities: type === 'vlm' ? ['vision'] : [], embeds: type === 'embeddings' }),
  },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
