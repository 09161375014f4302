import { local } from '../provider.ts'

// Address and routes: examples/server of leejet/stable-diffusion.cpp.
export const stableDiffusionCpp = local('stable-diffusion-cpp', 'stable-diffusion.cpp', 'http://127.0.0.1:1234/v1', {
  engine: {
    list: { path: '/models', beside: 'base' },
    // routes_openai.cpp: the only name it uses for any loaded model.
    isIts: ({ id }) => id === 'sd-cpp-local',
    read: () => ({ kind: 'image' }),
  },
  media: { image: { takes: ['output_format'] }, video: null, speech: null, transcription: null },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
