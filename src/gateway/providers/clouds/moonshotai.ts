import { cloud } from '../provider.ts'

// Source of everything here: pi-ai 1.5.2.
export const moonshotai = cloud('moonshotai', 'Moonshot AI', 'MOONSHOT', 'https://api.moonshot.ai/v1', {
  chat: [
    { reasoning: 'switch', strict: false, echoesReasoning: true },
    { model: /kimi-k3/, reasoning: 'effort', efforts: ['low', 'high', 'max'] },
  ],
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
