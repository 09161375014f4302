import { cloud } from '../provider.ts'

// Address and `strict`: pi-ai 1.5.2.
export const together = cloud('together', 'Together AI', 'TOGETHER', 'https://api.together.ai/v1', {
  chat: [
    // docs.together.ai/docs/inference/chat/reasoning: most models are switched, gpt-oss has efforts.
    { reasoning: 'enabled', strict: false, topK: true },
    { model: /gpt-oss/, reasoning: 'effort', efforts: ['low', 'medium', 'high'] },
  ],
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
