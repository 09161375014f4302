import { cloud } from '../provider.ts'

export const replicate = cloud('replicate', 'Replicate', 'REPLICATE', 'https://api.replicate.com/v1', {
  // Address and key header: `@ai-sdk/replicate` 3.0.46, replicate-provider.ts.
  shape: 'replicate',
  // Its answers report machine time, not cost.
  reportsCost: false,
  catalogue: null,
  // `replicate` 1.4.0, lib/accounts.js.
  keyCheck: '/account',
  // Its list contains everyone's models, thousands of them.
  lists: false,
  unknown: ['price tiers'],
})
