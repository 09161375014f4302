import { cloud } from '../provider.ts'
import { bedrockTransport, isConverse } from '../transport/bedrock.ts'

export const bedrock = cloud('bedrock', 'Amazon Bedrock', 'BEDROCK', null, {
  shape: 'anthropic-messages',
  lists: false,
  // Requests are signed with the key (Signature Version 4), or carry a Bedrock API key.
  keyHeader: null,
  transport: bedrockTransport,
  wraps: true,
  fetchesNothing: true,
  converses: isConverse,
  // Claude uses Messages and all others Converse; OpenAI's shape doesn't serve these (docs.aws.amazon.com/bedrock,
  // inference APIs).
  serves: (shape, model) => shape === 'anthropic-messages' || !/claude|nova|llama/.test(model),
  keyProbe: (shape, model) =>
    shape === 'anthropic-messages'
      ? { path: `/model/${model}/converse`, body: { messages: [{ role: 'user', content: [{ text: '.' }] }] } }
      : null,
  unknown: ['reportsCost', 'betas taken', 'thinking through Converse', 'price tiers'],
})
