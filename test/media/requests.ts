import type {
  ImageRequest,
  MediaInput,
  SpeechRequest,
  TranscriptionRequest,
  VideoRequest,
} from '#gateway/media/adapter.ts'

export const imageRequest = (more: Partial<ImageRequest>): ImageRequest => ({
  kind: 'image',
  model: 'model',
  providerOptions: {},
  prompt: 'a red fox',
  n: 1,
  size: null,
  aspectRatio: null,
  quality: null,
  transparent: null,
  outputFormat: null,
  seed: null,
  negativePrompt: null,
  images: [],
  mask: null,
  ...more,
})

export const videoRequest = (more: Partial<VideoRequest>): VideoRequest => ({
  kind: 'video',
  model: 'model',
  providerOptions: {},
  prompt: 'a fox runs',
  seconds: null,
  size: null,
  resolution: null,
  aspectRatio: null,
  fps: null,
  audio: null,
  seed: null,
  negativePrompt: null,
  firstFrame: null,
  lastFrame: null,
  references: [],
  ...more,
})

export const speechRequest = (more: Partial<SpeechRequest>): SpeechRequest => ({
  kind: 'speech',
  model: 'model',
  providerOptions: {},
  input: 'Hello, wörld 🦊',
  voice: null,
  format: 'mp3',
  speed: null,
  language: null,
  instructions: null,
  ...more,
})

export const transcriptionRequest = (sound: MediaInput, more: Partial<TranscriptionRequest>): TranscriptionRequest => ({
  kind: 'transcription',
  model: 'model',
  providerOptions: {},
  sound,
  language: null,
  prompt: null,
  timestamps: 'segment',
  speakers: false,
  ...more,
})
