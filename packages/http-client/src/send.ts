/** Connections are reused only within the same owner. */
export interface ExchangeOwner {
  /** The endpoint and credential, without secrets. Empty: no credential. */
  credential: string
  /** The response's reader: an account ID or another subject. */
  party: string
}

export interface StreamedBody {
  bytes: AsyncIterable<Uint8Array>
  length: number
}

export interface Send extends ExchangeOwner {
  /** `https://api.example.com`: scheme, host, and port. */
  origin: string
  /** Path and query. */
  path: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD'
  /** Name, value, name, value. */
  headers: readonly string[]
  body: Buffer | string | null
  lead?: string
  /** A large body, read once while it is sent. `body` is null then. */
  streamed?: StreamedBody
  /** Skips the address check, for addresses set by the administrator. */
  mayBePrivate?: boolean
  /** Time limit to the end of the response. The limits of `outbound` always apply. */
  withinMs?: number
}
