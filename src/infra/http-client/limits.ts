/** The limits of one exchange with another server. Nothing that leaves this server waits for ever. */
export interface Limits {
  /** Until a connection stands, with DNS look-up and TLS. */
  connectMs: number
  /** From the request until the head of its answer, whatever comes before that; also until a connection is free for it. */
  headMs: number
  /** Between two pieces of a body. */
  idleMs: number
  /** From the request until the end of an answer that is not a stream of events. */
  wholeMs: number
  /** From the request until the end of a stream of events. */
  streamMs: number
  /** From the head until the end of an answer that is a redirect or an error. */
  errorMs: number
  /** The most bytes of one answer as it comes over the wire: heads, chunk lines and trailers count. */
  mostBytes: number
}

export const LIMITS: Limits = {
  // Handshakes take three round trips; a server that needs longer is overloaded, and another provider may not be.
  connectMs: 10_000,
  // A model may think for minutes before its first byte. The vendors' own SDKs give up after the same time (`timeout` of
  // `openai` and `@anthropic-ai/sdk`: 10 minutes), so nobody waits for what comes later.
  headMs: 600_000,
  // Providers send pings several times a minute while a model thinks; a whole answer comes in one piece or without pauses.
  idleMs: 300_000,
  // Half as long again as the head may take: DeepSeek, for one, sends its head and blank lines at once, and the JSON when
  // the model is ready (api-docs.deepseek.com, rate limit).
  wholeMs: 900_000,
  // Six times as long as anybody waits for a head: what takes longer is a job for a vendor's background mode or batch.
  streamMs: 3_600_000,
  // An error is a sentence; who takes longer to say it keeps the next provider from being asked.
  errorMs: 30_000,
  // Ten pictures as base64 are some 100 MB, the most that one answer of a model holds.
  mostBytes: 512 << 20,
}

/** Heads of 1xx before the one that answers: servers send one or two (RFC 8297). */
export const MOST_INTERIM = 20
