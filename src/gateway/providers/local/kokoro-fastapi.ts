import { local } from '../provider.ts'

// Address and default voice: the README of remsky/Kokoro-FastAPI.
export const kokoroFastApi = local('kokoro-fastapi', 'Kokoro-FastAPI', 'http://127.0.0.1:8880/v1', {
  engine: {
    list: { path: '/models', beside: 'base' },
    // api/src/routers/openai_compatible.py: the owner it reports for its models.
    isIts: ({ owned_by: owner }) => owner === 'kokoro',
  },
  media: { image: null, video: null, transcription: null, speech: { voice: 'af_heart' } },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
