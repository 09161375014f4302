import type { CountLimits } from '#core/json/json-counts.ts'

/**
 * Limits for one conversation request. Anthropic accepts 100,000 messages and searches among 10,000 tools; no model's
 * context fits more messages, and reading them would block everyone else.
 */
export const conversationLimits: CountLimits = {
  lists: {
    messages: 20_000,
    input: 20_000,
    tools: 10_000,
    functions: 10_000,
    system: 5_000,
    stop: 256,
    stop_sequences: 256,
  },
  otherLists: 5_000,
  inner: 5_000,
  values: 250_000,
}

const PATHS: ReadonlySet<string> = new Set([
  '/chat/completions',
  '/responses',
  '/responses/compact',
  '/responses/input_tokens',
  '/messages',
  '/messages/count_tokens',
])

/** Embedding input isn't one: it may be the numbers of a million tokens. */
export const holdsConversation = ({ path }: { path: string }): boolean => PATHS.has(path.replace(/^\/v1(?=\/)/, ''))
