import { bothLimits } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

// Address and efforts: pi-ai 1.5.2.
export const cerebras = cloud('cerebras', 'Cerebras', 'CEREBRAS', 'https://api.cerebras.ai/v1', {
  chat: [
    // Rejects reasoning in the history with Groq's message: Kilo-Org/kilocode#10375.
    { efforts: ['low', 'medium', 'high'], refusesReasoning: true, ...bothLimits },
    { model: /qwen/, efforts: ['none', 'low', 'medium', 'high'] },
  ],
  unknown: ['reportsCost', 'refused fields', 'efforts of unnamed models', 'price tiers'],
})
