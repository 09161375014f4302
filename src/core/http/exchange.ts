import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Reply, WholeRequest } from '#packages/fast-http/exchange.ts'
import type { Refusal } from '../errors.ts'
import type { Id } from '../ids.ts'

export type { Reply, WholeRequest }

export interface WrittenRefusal {
  status: number
  headers: Record<string, string>
  body: object
}

/** Paths whose ordinary POSTs take the fast path (complete requests). */
export interface FastMount {
  paths: readonly string[]
  handle(request: WholeRequest, reply: Reply, requestId: Id): void
}

export interface Mount {
  prefix: string
  /** The handler writes all headers including `X-Request-Id` with the status, to save time on the hot path. */
  ownHead?: true
  /** Encodes refusals that occur before the handler. Default: REST format. */
  refusal?(why: Refusal, requestId: Id): WrittenRefusal
  handle(request: IncomingMessage, response: ServerResponse, requestId: Id): void | Promise<void>
  fast?: FastMount
  interrupt?(why: Refusal): void
}

export interface HostMount {
  owns(host: string | undefined): boolean
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  end(): void
}

/** Paths that accept WebSocket upgrades. Other requests to them aren't handled by this mount. */
export interface UpgradeMount {
  owns(path: string): boolean
  /** Takes over the connection, or throws the refusal before writing anything. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, requestId: Id): Promise<void>
  /** The server starts closing: sockets that can reconnect elsewhere close now. */
  drain?(): void
  end?(): void
}
