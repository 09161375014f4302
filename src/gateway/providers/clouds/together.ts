import { cloud } from '../provider.ts'

// Address and `strict`: pi-ai 1.5.2.
export const together = cloud('together', 'Together AI', 'TOGETHER', 'https://api.together.ai/v1', {
  chat: [
    // docs.together.ai/docs/inference/chat/reasoning: most models have a switch, gpt-oss has efforts.
    { reasoning: 'enabled', strict: false, topK: true },
    { model: /gpt-oss/, reasoning: 'effort', efforts: ['low', 'medium', 'high'] },
  ],
  // `@ai-sdk/togetherai` 3.0.54, togetherai-image-model.ts.
  media: {
    image: {
      edits: 'image_url',
      size: 'width and height',
      takes: ['seed', 'negative_prompt'],
      masks: false,
      base64: 'base64',
    },
    video: null,
  },
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
