import { local } from '../provider.ts'

// Address, and that it takes no key: the ollama repository (2026-08-21).
export const ollama = local('ollama', 'Ollama', 'http://127.0.0.1:11434', {
  shape: 'ollama',
  needsKey: false,
  chat: [
    // openai/openai.go of ollama/ollama (2026-08), ollama/ollama#18305: only `max_tokens` is read, `developer` is
    // dropped.
    {
      efforts: ['none', 'low', 'medium', 'high', 'max'],
      refusesEfforts: true,
      refusesEmptyCalls: true,
      ownAnswers: true,
      // Only text and base64 images (docs.ollama.com, OpenAI compatibility).
      files: false,
    },
  ],
  unknown: ['reportsCost'],
})
