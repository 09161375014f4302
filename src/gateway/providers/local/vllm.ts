import { local } from '../provider.ts'

// Address: third-party guides that run it with defaults.
export const vllm = local('vllm', 'vLLM', 'http://127.0.0.1:8000/v1', {
  engine: {
    list: { path: '/models', beside: 'base' },
    // vllm/entrypoints/openai: the owner it reports for all models.
    isIts: ({ owned_by, max_model_len: length }) => owned_by === 'vllm' && typeof length === 'number',
  },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
