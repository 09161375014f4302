import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EndpointReply } from '#core/answers.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import type { Scope } from '#core/scopes.ts'

/** The parts of the server that the agent tool needs. The line has them; app.ts joins the two. */
export interface AgentDoor {
  endpoints: readonly ListedEndpoint[]
  /**
   * Host, origin, method, key, rate and size, in this order; refuses, and sets the headers that every answer carries.
   * Null when the request was a preflight and is answered.
   */
  admit(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<Admitted | null>
}

/** A caller whose key holds, and its message. Disposing ends the request's accounts. */
export interface Admitted extends AgentCaller, Disposable {
  body: Buffer
  /** Fires when the caller leaves. */
  signal: AbortSignal
  /** Resolves when the next piece of a large answer may be written. */
  nextPiece: () => Promise<void>
}

/** The caller of the tool: a key over HTTP, or the server on an agent's behalf. */
export interface AgentCaller {
  requestId: Id
  /** The origin of REST, for links: `https://uk.example.com`. */
  origin: string
  /** Whether the credential grants the scope; what roles and shares allow is known only of a call. */
  may(scope: Scope | null): boolean
  /** Scope, read, permit, service, and the envelope of REST around what it answers. Throws what refuses it. */
  call(name: string, input: unknown, consented?: boolean): Promise<EndpointReply>
  /** The question to a person before this very call, as it comes back with their yes. Absent if asked elsewhere. */
  question?(name: string, input: unknown): string
  /** Takes a yes to that question, once; refuses where it was another's. */
  redeem?(question: string, name: string, input: unknown): Promise<void>
  /** The REST error of anything thrown; a fault of ours is logged and shows nothing of itself. */
  refusal(error: unknown): ErrorBody
}
