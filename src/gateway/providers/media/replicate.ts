import { cloud } from '../provider.ts'

export const replicate = cloud('replicate', 'Replicate', 'REPLICATE', 'https://api.replicate.com/v1', {
  // Address and key header: `@ai-sdk/replicate` 3.0.46, replicate-provider.ts.
  shape: 'replicate',
  // Its answers state how long a machine worked, and not what that cost.
  reportsCost: false,
  catalogue: null,
  // `replicate` 1.4.0, lib/accounts.js.
  keyCheck: '/account',
  // What it lists is everybody's models, thousands of them.
  lists: false,
  unknown: ['price tiers'],
})
