import { cloud } from '../provider.ts'

// Everything here: pi-ai 1.5.2.
export const fireworks = cloud('fireworks', 'Fireworks AI', 'FIREWORKS', 'https://api.fireworks.ai/inference/v1', {
  chat: [
    { efforts: ['low', 'high', 'max'], topK: true },
    { model: /kimi/, echoesReasoning: true },
  ],
  adaptiveThinking: true,
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
