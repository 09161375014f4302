import type { IncomingHttpHeaders } from 'node:http'

/** A complete request, head and body, before any handler reads it. */
export interface WholeRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly socket: object
  readonly whole: Buffer
  /** Releases the memory of `whole` for reuse by another request. Never call it if unsure. */
  done(): void
}

/** The part of Node's `ServerResponse` that mounts need if they write their own heads. */
export interface Reply {
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  /** Alternating names and values. Throws on invalid header values. */
  writeHead(status: number, head: string[]): this
  /** Returns false if the caller must wait for `drain`. */
  write(bytes: Buffer | string): boolean
  end(bytes?: Buffer | string): unknown
  end(text: string, encoding: 'latin1'): unknown
  destroy(): unknown
  on(event: 'close' | 'drain', listener: () => void): this
  once(event: 'close' | 'drain', listener: () => void): this
  off(event: 'close' | 'drain', listener: () => void): this
}
