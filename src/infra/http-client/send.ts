/** The owner of an exchange. A connection that carried one for these is never lent to one for others. */
export interface ExchangeOwner {
  /** The endpoint that is asked and the credential that it is asked with, in words that hold no secret; empty: with none. */
  credential: string
  /** The reader of the answer: an account's id, or what else the answer is for. */
  party: string
}

/** A body of so many bytes, neither more nor less. */
export interface StreamedBody {
  bytes: AsyncIterable<Uint8Array>
  length: number
}

/** A request on its way out. */
export interface Send extends ExchangeOwner {
  /** `https://api.example.com`: scheme, host and port. */
  origin: string
  /** Path and query. */
  path: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD'
  /** Name, value, name, value. */
  headers: readonly string[]
  /** A string is one byte per character. */
  body: Buffer | string | null
  /** The part of the body that comes before `body`: one byte per character. */
  lead?: string
  /** The body, where it is too large to be held: read once, as fast as it is sent. Then `body` is null. */
  streamed?: StreamedBody
  /** Skips the address check: for what the instance's administrator set up. */
  mayBePrivate?: boolean
  /** The time limit until the end of the answer; absent: as the limits of `outbound` say, which hold in any case. */
  withinMs?: number
}
