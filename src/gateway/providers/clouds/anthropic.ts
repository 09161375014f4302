import { cloud } from '../provider.ts'

export const anthropic = cloud('anthropic', 'Anthropic', 'ANTHROPIC', 'https://api.anthropic.com', {
  // Address and headers: `@anthropic-ai/sdk` 1.11.0, client.js; its answers have no field for a cost.
  shape: 'anthropic-messages',
  keyHeaders: ['x-api-key', 'authorization'],
  reportsCost: false,
  plainPrices: { service_tier: ['auto', 'standard', 'standard_only'], speed: ['standard'], inference_geo: ['global'] },
  unknown: ['refused fields'],
})
