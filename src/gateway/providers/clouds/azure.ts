import { openaiReasoning } from '../../wire/shared/quirks.ts'
import { cloud } from '../provider.ts'
import { azureTransport } from '../transport/azure.ts'

export const azure = cloud('azure', 'Azure OpenAI', 'AZURE_OPENAI', null, {
  // Deployments have names of their customer's: it is asked for them.
  catalogue: null,
  keyHeaders: ['api-key', 'authorization'],
  keyHeader: 'api-key',
  transport: azureTransport,
  // Serves OpenAI's models, which refuse the older limit and any sampling (compat.md 7.2).
  chat: [openaiReasoning],
  fixedSampling: true,
  cacheBreakpoints: true,
  unknown: ['reportsCost', 'refused fields', 'api-versions with max_completion_tokens', 'price tiers'],
})
