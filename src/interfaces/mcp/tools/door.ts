import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EndpointReply } from '#core/answers.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import type { Scope } from '#core/scopes.ts'

/** Server functions the MCP tools need, wired in app.ts. */
export interface AgentDoor {
  endpoints: readonly ListedEndpoint[]
  /**
   * Checks host, origin, method, key, rate and size, in this order, and sets common headers. Null after answering a
   * preflight.
   */
  admit(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<Admitted | null>
}

/** An authenticated caller and its message. Disposing ends the request's accounting. */
export interface Admitted extends AgentCaller, Disposable {
  body: Buffer
  /** Fires when the client disconnects. */
  signal: AbortSignal
  /** Resolves when the next piece of a large answer may be written. */
  nextPiece: () => Promise<void>
}

/** The caller: a key over HTTP, or the server on an agent's behalf. */
export interface AgentCaller {
  requestId: Id
  /** REST origin for links: `https://uk.example.com`. */
  origin: string
  /** Whether the credential has the scope. Roles and shares are checked per call. */
  may(scope: Scope | null): boolean
  /** Runs the call (scope, parse, permit, service) and returns the REST envelope. Throws errors. */
  call(name: string, input: unknown, consented?: boolean): Promise<EndpointReply>
  /** Signed approval question for exactly this call. Absent if approval is asked elsewhere. */
  question?(name: string, input: unknown): string
  /** Accepts an approval once. Throws if it belongs to another question. */
  redeem?(question: string, name: string, input: unknown): Promise<void>
  /** Converts a thrown value to a REST error. Internal errors are logged and reveal nothing. */
  refusal(error: unknown): ErrorBody
}
