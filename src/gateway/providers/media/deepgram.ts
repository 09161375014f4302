import { cloud } from '../provider.ts'

export const deepgram = cloud('deepgram', 'Deepgram', 'DEEPGRAM', 'https://api.deepgram.com/v1', {
  // Address and key header: `@ai-sdk/deepgram` 3.1.16, deepgram-provider.ts.
  shape: 'deepgram',
  reportsCost: false,
  // developers.deepgram.com, Management API: the projects of a key. No source says whether the list of models requires
  // a key.
  keyCheck: '/projects',
  unknown: ['price tiers'],
})
