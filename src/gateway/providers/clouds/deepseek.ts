import { cloud } from '../provider.ts'

// Address: pi-ai 1.5.2.
export const deepseek = cloud('deepseek', 'DeepSeek', 'DEEPSEEK', 'https://api.deepseek.com', {
  // api-docs.deepseek.com/guides/thinking_mode (2026-11).
  chat: [{ reasoning: 'thinking', efforts: ['low', 'high', 'max'], echoesReasoning: true }],
  unknown: ['reportsCost', 'refused fields', 'price tiers'],
})
