import { cloud } from '../provider.ts'

// Source of everything here: pi-ai 1.5.2.
export const fireworks = cloud('fireworks', 'Fireworks AI', 'FIREWORKS', 'https://api.fireworks.ai/inference/v1', {
  chat: [
    { efforts: ['low', 'high', 'max'], topK: true },
    { model: /kimi/, echoesReasoning: true },
  ],
  adaptiveThinking: true,
  // `@ai-sdk/fireworks` 3.0.62, fireworks-image-model.ts. Audio is served at other hosts.
  media: { image: { workflows: true }, speech: null, transcription: null, video: null },
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
