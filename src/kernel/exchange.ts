import type { IncomingHttpHeaders } from 'node:http'

/** A request that has come whole, head and body, before anybody looks at it. */
export interface WholeRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Its connection: one object for all that come on it. */
  readonly socket: object
  readonly whole: Buffer
}

/** Where an answer is written. Of Node's `ServerResponse` it is what mounts need that write their own heads. */
export interface Reply {
  /** The head is written, or is about to be with the first bytes. */
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  /** Name, value, … Throws for what no header may hold. */
  writeHead(status: number, head: string[]): this
  /** False: wait for `drain`. */
  write(bytes: Buffer | string): boolean
  end(bytes?: Buffer | string): unknown
  end(text: string, encoding: 'latin1'): unknown
  destroy(): unknown
  /** `close`: the answer is over, or its reader has left. */
  on(event: 'close' | 'drain', listener: () => void): this
  once(event: 'close' | 'drain', listener: () => void): this
  off(event: 'close' | 'drain', listener: () => void): this
}
