import { Refusal } from '#core/errors.ts'
import { providerOf } from '../providers/every-provider.ts'
import { decode as decodeMessages } from './anthropic-messages/decode/decode.ts'
import { encode as encodeMessages } from './anthropic-messages/encode/encode.ts'
import { decode as decodeChat } from './openai-chat/decode/decode.ts'
import { encode as encodeChat } from './openai-chat/encode/encode.ts'
import type { Target } from './shared/target.ts'

/** Fixtures for translation tests: models of four kinds, and a request put through. */
export const claude: Target = {
  model: 'claude-sonnet-4-6',
  maxOutputTokens: 64_000,
  capabilities: ['tools', 'vision', 'reasoning'],
  provider: providerOf('anthropic'),
}
export const old: Target = { ...claude, model: 'claude-sonnet-4-5' }
export const gpt: Target = {
  model: 'gpt-5',
  maxOutputTokens: 32_000,
  capabilities: ['tools', 'vision', 'reasoning'],
  provider: providerOf('openai'),
}
export const other: Target = { model: 'llama', maxOutputTokens: null, capabilities: [], provider: null }

export const hi = { role: 'user', content: 'hi' }
export const toClaude = (body: object, target = claude) =>
  encodeMessages(decodeChat({ model: 'm', messages: [hi], ...body }).canonical, target, { stream: false })
export const toChat = (body: object, target = other) =>
  encodeChat(decodeMessages({ model: 'm', max_tokens: 100, messages: [hi], ...body }).canonical, target, {
    stream: false,
  })
export const refusal = (run: () => unknown) => {
  try {
    run()
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.param]
    throw error
  }
  return null
}
