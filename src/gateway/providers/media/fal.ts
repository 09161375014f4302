import { cloud } from '../provider.ts'

export const fal = cloud('fal', 'fal', 'FAL', 'https://queue.fal.run', {
  // Address of the queue: `@fal-ai/client` 1.10.1, request.js; key header: `@ai-sdk/fal` 3.0.41, fal-provider.ts.
  shape: 'fal',
  reportsCost: false,
  lists: false,
  // No source names a request that only checks a key; a call to an app that doesn't exist costs nothing.
  keyProbe: (_, model) => ({ path: `/fal-ai/${model}`, body: {} }),
  unknown: ['price tiers', 'key check', 'list of models'],
})
