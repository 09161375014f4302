import { openaiReasoning } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'

export const openai = cloud('openai', 'OpenAI', 'OPENAI', 'https://api.openai.com/v1', {
  // Address: `openai` 7.55.0, client.js; its answers have no cost field.
  reportsCost: false,
  bothOpenaiShapes: true,
  // Its reasoning models reject the older limit and sampling fields (compat.md 7.2).
  chat: [openaiReasoning],
  fixedSampling: true,
  cacheBreakpoints: true,
  // It rejects fields that others added to its shape.
  refusedParameters: ['top_k', 'min_p', 'top_a', 'repetition_penalty'],
  // `auto` is the default, `default` the standard price: `openai` 7.55.0, completions.d.ts; `flex` costs half:
  // `@ai-sdk/openai`, openai-chat-language-model-options.ts. No source gives the price of `scale`.
  plainPrices: { service_tier: ['auto', 'default', 'flex'] },
  unknown: ['refused fields'],
})
