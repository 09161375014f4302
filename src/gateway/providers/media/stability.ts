import { cloud } from '../provider.ts'

export const stability = cloud('stability', 'Stability AI', 'STABILITY', 'https://api.stability.ai/v2beta', {
  // Address and key: `stability-ai` 0.7.0.
  shape: 'stability',
  reportsCost: false,
  catalogue: null,
  // The account's balance belongs to the older version of its API: `stability-ai` 0.7.0, v1/user.
  keyCheck: '/v1/user/balance',
  keyCheckBeside: '/v2beta',
  lists: false,
  unknown: ['price tiers', 'list of models'],
})
