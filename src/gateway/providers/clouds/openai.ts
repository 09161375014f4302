import { openaiReasoning } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

export const openai = cloud('openai', 'OpenAI', 'OPENAI', 'https://api.openai.com/v1', {
  // Address: `openai` 7.55.0, client.js; its answers have no field for a cost.
  reportsCost: false,
  bothOpenaiShapes: true,
  // Its reasoning models refuse the older limit and any sampling (compat.md 7.2).
  chat: [openaiReasoning],
  fixedSampling: true,
  cacheBreakpoints: true,
  // It refuses fields that others added to its shape.
  refusedParameters: ['top_k', 'min_p', 'top_a', 'repetition_penalty'],
  // `auto` is what a request without it gets, `default` the standard price: `openai` 7.55.0, completions.d.ts; `flex` costs
  // half: `@ai-sdk/openai`, openai-chat-language-model-options.ts. No source tells what `scale` costs.
  plainPrices: { service_tier: ['auto', 'default', 'flex'] },
  unknown: ['refused fields'],
})
