import type { Id } from './ids.ts'
import type { Membership, Principal } from './principal.ts'
import type { Capability, Scope } from './scopes.ts'

/** The fields that every stored row has. `permit` finds it. */
export interface Resource {
  id: Id
  /** Null if it belongs to an account. */
  workspace_id: Id | null
  /** Set if it lives in no workspace. Grants no access inside a workspace. */
  account_id?: Id | null
  /** The caller's membership if the finder knows a better one, for example through a share of its parent. */
  place?: Membership | null
  status?: string
  /** Throws if the caller lacks a capability. Only computers have capabilities. */
  checkCapability?(capability: Capability, scope: Scope | null): void
  ancestors?: readonly Id[]
  updated_at: Date
}

/** Bytes sent as a request body or as its `file` part. Readable once. */
export interface Upload {
  name: string | null
  mimeType: string | null
  coding?: string | null
  size: number | null
  /** A chunk is valid only until the next request; copy it to keep it. */
  bytes: AsyncIterable<Uint8Array>
  part: string | null
  /** Returns the form's next file once this is read, or null. Undefined if the endpoint accepts only one. */
  next?(): Promise<Upload | null>
}

export interface Answer {
  status?: number
  headers: Record<string, string>
  /** A token to set as the session cookie until `expiresAt`. Null clears the cookie. */
  session?: { token: string; expiresAt: Date } | null
}

/**
 * Everything a call may use, passed in instead of imported. `infra/context.ts` adds the stateful parts. Services never
 * see HTTP.
 */
export interface CallContext {
  principal: Principal
  requestId: Id
  version: string
  now(): Date
  signal: AbortSignal
  resource: Resource | null
  workspace: { id: Id; membership: Membership } | null
  /** The state the caller saw (`If-Match`). The update fails if it has changed since. */
  unchangedSince: Date | null
  /** Set if an agent calls, with whether a person approved this call. Null for people and programs. */
  agent: { consented: boolean } | null
  /**
   * `loopback`: the call comes from this machine without a sign of a proxy. `origin`: the page origin according to the
   * browser, null if absent or from another site.
   */
  caller: { ip: string; userAgent: string | null; loopback: boolean; origin: string | null }
  wantsEvents: boolean
  upload: Upload | null
  answer: Answer
  /** Calls another endpoint by name (`chats.list`) with this caller's permissions. Checks scope, input, and access. */
  invoke(name: string, input: unknown): Promise<unknown>
}

/** Finds resources of one kind for `permit` and returns them typed to services. */
export interface Finder<C extends CallContext = CallContext, Row extends Resource = Resource> {
  kind: string
  find(ctx: C, id: Id): Promise<Row | null>
  of(ctx: C): Row
}

export function finder<C extends CallContext, Row extends Resource>(
  kind: string,
  find: (ctx: C, id: Id) => Promise<Row | null>,
): Finder<C, Row> {
  return {
    kind,
    find,
    of(ctx) {
      if (ctx.resource === null)
        throw new Error(`no ${kind} was found for this call: its contract lacks access: resource('${kind}')`)
      return ctx.resource as Row
    },
  }
}
