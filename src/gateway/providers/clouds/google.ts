import { cloud } from '../provider.ts'

export const google = cloud(
  'google',
  'Google Gemini',
  'GEMINI',
  // pi-ai 1.5.2, `baseUrl` of its models.
  'https://generativelanguage.googleapis.com/v1beta',
  {
    shape: 'gemini',
    keyHeaders: ['x-goog-api-key', 'authorization'],
    unknown: ['reportsCost', 'refused fields', 'price tiers'],
  },
)
