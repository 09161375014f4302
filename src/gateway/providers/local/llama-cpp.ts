import { local } from '../provider.ts'

// Address: third-party guides that run it with defaults.
export const llamaCpp = local('llama-cpp', 'llama.cpp', 'http://127.0.0.1:8080/v1', {
  engine: {
    list: { path: '/models', beside: 'base' },
    // tools/server/server-context.cpp: the owner it reports for all models.
    isIts: ({ owned_by }) => owned_by === 'llamacpp',
    // `meta` has the context length that the model was trained with.
    read: (row) => {
      const { n_ctx_train: length } = (row.meta ?? {}) as { n_ctx_train?: unknown }
      return { row: { ...row, context_length: row.context_length ?? length } }
    },
  },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
