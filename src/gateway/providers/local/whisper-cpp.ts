import { local } from '../provider.ts'

// Address and route: examples/server of ggml-org/whisper.cpp. Its README warns against exposing it to untrusted users.
export const whisperCpp = local('whisper-cpp', 'whisper.cpp', 'http://127.0.0.1:8080', {
  engine: {
    // server.cpp: the title of its page. It serves the one model it was started with, and has no list.
    page: { path: '/', says: '<title>Whisper.cpp Server</title>', model: 'whisper' },
  },
  lists: false,
  media: { image: null, video: null, speech: null, transcription: { path: '/inference', unnamedModel: true } },
  unknown: ['reportsCost', 'needsKey', 'differences from OpenAI'],
})
