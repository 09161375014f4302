import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Refusal } from './errors.ts'
import type { Id } from './ids.ts'

/** A request that has come whole, head and body, before anybody looks at it. */
export interface WholeRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The request's connection: one object for all requests that come on it. */
  readonly socket: object
  readonly whole: Buffer
  /** Gives back the memory of `whole`, which becomes another request's. A reader that is not sure never calls it. */
  done(): void
}

/** The receiver of an answer: the part of Node's `ServerResponse` that mounts need that write their own heads. */
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

/** A refusal as it is written, whatever the shape of its body. */
export interface WrittenRefusal {
  status: number
  headers: Record<string, string>
  body: object
}

/** Paths whose ordinary POSTs come whole and by the short way. */
export interface FastMount {
  paths: readonly string[]
  handle(request: WholeRequest, reply: Reply, requestId: Id): void
}

/** A part of the address space that is not REST: the gateways, `/mcp`, the docs, the app, health. */
export interface Mount {
  /** Paths that begin so are its own. */
  prefix: string
  /**
   * The handler writes `X-Request-Id` and all other headers itself, together with the status: the hot path has time for
   * no more.
   */
  ownHead?: true
  /** A refusal of what never comes to it, in its own shape; absent: in that of REST. */
  refusal?(why: Refusal, requestId: Id): WrittenRefusal
  handle(request: IncomingMessage, response: ServerResponse, requestId: Id): void | Promise<void>
  fast?: FastMount
  /** The server closes: answers with this, in its own shape, what is still in progress. */
  interrupt?(why: Refusal): void
}

/** Hosts beside the API's own: all that is asked of them is theirs, whatever its path. */
export interface HostMount {
  owns(host: string | undefined): boolean
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** A request that turns its connection into a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** The server closes: ends what is open. */
  end(): void
}

/** Paths at which a connection may become a WebSocket. Any other request for such a path is not this mount's. */
export interface UpgradeMount {
  /** Whether a path, without its query, is its own. */
  owns(path: string): boolean
  /** Takes the connection over, or throws what the caller is refused with before anything was written to it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, requestId: Id): Promise<void>
  /** The server begins to close: what can go on elsewhere ends now. */
  drain?(): void
  /** Ends whatever is left: nothing is waited for any more. */
  end?(): void
}
