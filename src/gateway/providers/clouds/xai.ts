import { bothLimits } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

// Address and efforts: pi-ai 1.5.2. Chat Completions and Responses: docs.x.ai.
export const xai = cloud('xai', 'xAI', 'XAI', 'https://api.x.ai/v1', {
  bothOpenaiShapes: true,
  chat: [
    { efforts: ['low', 'medium', 'high', 'xhigh'], ...bothLimits },
    { model: /grok-4\.3/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  ],
  // `@ai-sdk/xai` 5.0.12, xai-image-model.ts.
  media: {
    image: { edits: 'json', size: 'none', takes: ['aspect_ratio', 'quality', 'output_format'], masks: false },
    speech: null,
    transcription: null,
    video: null,
  },
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
