import { bothLimits } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

// Address and efforts: pi-ai 1.5.2. Rejected fields: console.groq.com/docs/openai.
export const groq = cloud('groq', 'Groq', 'GROQ', 'https://api.groq.com/openai/v1', {
  chat: [
    // `property 'reasoning_content' is unsupported`: SimonSchubert/Kai#265.
    { efforts: ['low', 'medium', 'high'], refusesReasoning: true, ...bothLimits },
    { model: /qwen/, efforts: ['none', 'low', 'medium', 'high'] },
  ],
  // console.groq.com/docs/text-to-speech: WAV only. Each voice belongs to one model, so none is the default.
  media: { image: null, video: null, speech: { formats: ['wav'], voice: null } },
  unknown: ['reportsCost', 'refused fields', 'price tiers', 'efforts of unnamed models'],
})
