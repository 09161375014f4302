import { cloud } from '../provider.ts'

export const anthropic = cloud('anthropic', 'Anthropic', 'ANTHROPIC', 'https://api.anthropic.com', {
  // Address and headers: `@anthropic-ai/sdk` 1.11.0, client.js; its answers have no cost field.
  shape: 'anthropic-messages',
  keyHeaders: ['x-api-key', 'authorization'],
  reportsCost: false,
  // Values in its SDK (types of messages and beta messages). The defaults are `auto` and `standard`. No source lists
  // the regions or their prices.
  plainPrices: { service_tier: ['auto', 'standard_only'], speed: ['standard'], inference_geo: [] },
  // `BetaFallbackParam` of the same SDK: a separate model, limit, and speed for requests that the model declines.
  pricedApart: ['fallbacks'],
  unknown: ['refused fields'],
})
