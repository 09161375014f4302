import { bothLimits } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

// Address and efforts: pi-ai 1.5.2. Chat completions, and responses beside them: docs.x.ai.
export const xai = cloud('xai', 'xAI', 'XAI', 'https://api.x.ai/v1', {
  bothOpenaiShapes: true,
  chat: [
    { efforts: ['low', 'medium', 'high', 'xhigh'], ...bothLimits },
    { model: /grok-4\.3/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  ],
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
