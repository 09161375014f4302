import type { Id } from './ids.ts'
import type { Membership, Principal } from './principal.ts'
import type { Capability, Scope } from './scopes.ts'

/** A resource that `permit` found: what every stored row carries. */
export interface Resource {
  id: Id
  /** The workspace it lives in; null for what belongs to an account. */
  workspace_id: Id | null
  /** The account it belongs to where it lives in no workspace. In one, this gives nobody a right. */
  account_id?: Id | null
  /** The caller's place with it, where its finder knows better: by a share of what it goes with. */
  place?: Membership | null
  status?: string
  /** Refuses what the caller may not do with it, where that is a matter of capabilities: computers. `scope`: the endpoint's. */
  checkCapability?(capability: Capability, scope: Scope | null): void
  /** The folders that it lies in: who has a share of one has it of this. */
  ancestors?: readonly Id[]
  updated_at: Date
}

/** Bytes that came as the body of a call, or as its part `file`. They can be read once. */
export interface Upload {
  /** The name that the sender gave them. */
  name: string | null
  mimeType: string | null
  /** The `Content-Encoding` of the body, which only calls that decode it themselves let through. */
  coding?: string | null
  /** The number of bytes that the sender declared; null where it is not known before they end. */
  size: number | null
  /** A part holds only until the next is asked for: a reader that keeps it copies it. */
  bytes: AsyncIterable<Uint8Array>
  /** The part of the form that they came as; null: they are the body. */
  part: string | null
  /** The next of the form, once these were read; null: they were the last. Absent where there can be one alone. */
  next?(): Promise<Upload | null>
}

export interface Answer {
  status?: number
  headers: Record<string, string>
  /** A token to set as the session cookie until then, or null to take the cookie away. */
  session?: { token: string; expiresAt: Date } | null
}

/**
 * The things that a call may use, handed in and never imported. The engine adds what keeps state (`infra/context.ts`);
 * a service sees nothing else, and never HTTP.
 */
export interface CallContext {
  principal: Principal
  requestId: Id
  /** The contract's date that the answer is lowered to. */
  version: string
  now(): Date
  /** Aborted when the caller leaves, its rights end, or the server shuts down. */
  signal: AbortSignal
  /** The resource that the path names, found by `permit`; read it through its area's `Finder`. */
  resource: Resource | null
  /** The workspace the call works in, and the caller's place there. Null where a call has none. */
  workspace: { id: Id; membership: Membership } | null
  /** The state that the caller saw (`If-Match`), which a change must still find. */
  unchangedSince: Date | null
  /**
   * An agent calls, and whether a person has agreed to this very call. Null for people and for programs, which go by
   * their rights alone.
   */
  agent: { consented: boolean } | null
  /**
   * The caller's place. `loopback`: the call comes from this machine, and nothing tells of a proxy. `origin`: the
   * origin of the page of ours that a browser says the call comes from; null where none is named, or another site's.
   */
  caller: { ip: string; userAgent: string | null; loopback: boolean; origin: string | null }
  /** The caller asks for events as they happen, where the endpoint has some. */
  wantsEvents: boolean
  /** Null where the call brings no bytes. */
  upload: Upload | null
  /** Parts of the answer beside its body: another status than the contract's, headers, the session cookie. */
  answer: Answer
  /** Calls another endpoint with this caller's rights, by its name (`chats.list`): scope, read, permit, service. */
  invoke(name: string, input: unknown): Promise<unknown>
}

/** Finds the resources of a kind for `permit`, and gives a service the row that was found, typed. */
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
      if (ctx.resource === null) throw new Error(`no ${kind} was found for this call: its contract lacks on: '${kind}'`)
      return ctx.resource as Row
    },
  }
}
