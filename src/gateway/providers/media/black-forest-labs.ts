import { cloud } from '../provider.ts'

export const blackForestLabs = cloud('black-forest-labs', 'Black Forest Labs', 'BFL', 'https://api.bfl.ai/v1', {
  // Address, key header, and variable name: `@ai-sdk/black-forest-labs` 2.0.41, black-forest-labs-provider.ts.
  shape: 'black-forest-labs',
  keyHeaders: ['x-key'],
  // It reports credits, not USD.
  reportsCost: false,
  catalogue: null,
  // docs.bfl.ai, "Get Credits".
  keyCheck: '/credits',
  lists: false,
  // Jobs are polled at sibling hosts, such as api.us1.bfl.ai: black-forest-labs-api.ts of the same package.
  keyDomain: 'bfl.ai',
  unknown: ['price tiers', 'list of models'],
})
