import { local } from '../provider.ts'

// Address: speaches.ai, installation.
export const speaches = local('speaches', 'Speaches', 'http://127.0.0.1:8000/v1', {
  engine: {
    list: { path: '/models', beside: 'base' },
    // src/speaches/api_types.py: the task of each model.
    isIts: ({ task }) => typeof task === 'string',
    read: ({ task }) =>
      task === 'automatic-speech-recognition'
        ? { kind: 'transcription' }
        : task === 'text-to-speech'
          ? { kind: 'speech' }
          : {},
  },
  media: { image: null, video: null, speech: { voice: null } },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
