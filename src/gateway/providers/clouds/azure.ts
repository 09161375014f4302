import { openaiReasoning } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'
import { azureTransport } from '../transport/azure.ts'

export const azure = cloud('azure', 'Azure OpenAI', 'AZURE_OPENAI', null, {
  // Customers name their deployments, so the provider is queried for them.
  catalogue: null,
  keyHeaders: ['api-key', 'authorization'],
  keyHeader: 'api-key',
  transport: azureTransport,
  // Serves OpenAI's models, which reject the older limit and sampling fields (compat.md 7.2).
  chat: [openaiReasoning],
  fixedSampling: true,
  cacheBreakpoints: true,
  unknown: ['reportsCost', 'refused fields', 'api-versions with max_completion_tokens', 'price tiers'],
})
