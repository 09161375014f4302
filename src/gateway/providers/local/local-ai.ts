import { local } from '../provider.ts'

/** LocalAI's names of the media that a model generates or reads: core/config/model_config.go. */
const KINDS = [
  ['image', 'image'],
  ['video', 'video'],
  ['tts', 'speech'],
  ['transcript', 'transcription'],
] as const

// Address: localai.io, API reference.
export const localAi = local('local-ai', 'LocalAI', 'http://127.0.0.1:8080/v1', {
  engine: {
    // core/http/endpoints/openai/list_capabilities.go: its own list, which no other server has. Its OpenAI list has no
    // distinguishing mark.
    list: { path: '/models/capabilities', beside: 'base' },
    isIts: ({ object, capabilities = [] }) => object === 'model' && Array.isArray(capabilities),
    read: ({ capabilities = [] }) => {
      const can = new Set(capabilities as unknown[])
      const kind = can.has('chat') ? undefined : KINDS.find(([word]) => can.has(word))?.[1]
      return { embeds: can.has('embeddings'), ...(kind !== undefined && { kind }) }
    },
  },
  // The voice depends on the model, so none is the default.
  media: { speech: { voice: null } },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
