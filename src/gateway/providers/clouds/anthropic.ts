import { cloud } from '../provider.ts'

export const anthropic = cloud('anthropic', 'Anthropic', 'ANTHROPIC', 'https://api.anthropic.com', {
  // Address and headers: `@anthropic-ai/sdk` 1.11.0, client.js; its answers have no field for a cost.
  shape: 'anthropic-messages',
  keyHeaders: ['x-api-key', 'authorization'],
  reportsCost: false,
  // Values that its SDK knows (types of messages and beta messages): without them a request gets `auto` and `standard`. Which
  // regions there are, and what one costs, no source tells.
  plainPrices: { service_tier: ['auto', 'standard_only'], speed: ['standard'], inference_geo: [] },
  // `BetaFallbackParam` of the same: a model, a limit and a speed of their own, for what the model declines.
  pricedApart: ['fallbacks'],
  unknown: ['refused fields'],
})
