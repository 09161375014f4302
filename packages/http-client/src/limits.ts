/** Limits of an exchange with another server. No wait is unbounded. */
export interface Limits {
  /** Until connected, including DNS and TLS. */
  connectMs: number
  /** From the request (or the wait for a connection) to the final response head. */
  headMs: number
  /** Between two pieces of a body. */
  idleMs: number
  /** From the request to the end of a response that isn't an event stream. */
  wholeMs: number
  /** From the request to the end of an event stream. */
  streamMs: number
  /** From the head to the end of a redirect or error. */
  errorMs: number
  /** Response bytes on the wire, including heads, chunk lines, and trailers. */
  mostBytes: number
}

export const LIMITS: Limits = {
  // A handshake takes three round trips. A slower server is overloaded; another provider may not be.
  connectMs: 10_000,
  // A model may think for minutes before the first byte. The vendors' SDKs time out after the same 10 minutes
  // (`timeout` of `openai` and `@anthropic-ai/sdk`).
  headMs: 600_000,
  // Providers send pings several times a minute while a model thinks. Complete responses arrive without pauses.
  idleMs: 300_000,
  // 1.5 times the head limit: DeepSeek, for example, sends the head and blank lines at once and the JSON when it is
  // ready (api-docs.deepseek.com, rate limit).
  wholeMs: 900_000,
  // Six times the head limit. Longer work belongs in a provider's background or batch mode.
  streamMs: 3_600_000,
  // An error is short; a slow one delays the fallback to the next provider.
  errorMs: 30_000,
  // Ten images as base64 are about 100 MB, the largest model response.
  mostBytes: 512 << 20,
}

/** 1xx heads per response: servers send one or two (RFC 8297). */
export const MAX_INTERIM = 20
