import { bothLimits } from '../../wire/shared/habits.ts'
import { cloud } from '../provider.ts'

// Address and efforts: pi-ai 1.5.2. Fields that it refuses: console.groq.com/docs/openai.
export const groq = cloud('groq', 'Groq', 'GROQ', 'https://api.groq.com/openai/v1', {
  chat: [
    // `property 'reasoning_content' is unsupported`: SimonSchubert/Kai#265.
    { efforts: ['low', 'medium', 'high'], refusesReasoning: true, ...bothLimits },
    { model: /qwen/, efforts: ['none', 'low', 'medium', 'high'] },
  ],
  plainPrices: { service_tier: ['auto', 'flex', 'on_demand'] },
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models'],
})
