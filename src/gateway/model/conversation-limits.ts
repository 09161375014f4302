import type { CountLimits } from '#core/json/json-counts.ts'

/**
 * The most of everything in one request for words. Anthropic takes 100,000 messages and searches among 10,000 tools; a
 * conversation of as many messages fits into no model's context, and reading it would hold up everyone else.
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

/** Whether requests of this format are conversations; input for embeddings may be a million tokens' numbers. */
export const holdsConversation = ({ path }: { path: string }): boolean => PATHS.has(path.replace(/^\/v1(?=\/)/, ''))
