/** A request on its way out. */
export interface Send {
  /** `https://api.example.com`: scheme, host and port. */
  origin: string
  /** Path and query. */
  path: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD'
  /** Name, value, name, value. */
  headers: readonly string[]
  /** A string is one byte per character. */
  body: Buffer | string | null
  /** Of the body, what comes before `body`: one byte per character. */
  lead?: string
  /** Skips the address check: for what the instance's administrator set up. */
  mayBePrivate?: boolean
  headersTimeoutMs?: number
  bodyTimeoutMs?: number
}
