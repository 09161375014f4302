import { cloud } from '../provider.ts'

// Address and key header: `@ai-sdk/elevenlabs` 3.0.46, elevenlabs-provider.ts. Its model list covers speech;
// transcription models aren't listed anywhere.
export const elevenlabs = cloud('elevenlabs', 'ElevenLabs', 'ELEVENLABS', 'https://api.elevenlabs.io/v1', {
  shape: 'elevenlabs',
  keyHeaders: ['xi-api-key'],
  reportsCost: false,
  unknown: ['price tiers'],
})
