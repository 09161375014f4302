import type { Context } from '#infra/context.ts'
import { sharedPlace } from '#authz/shares.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { type Id, parseId } from '#core/ids.ts'
import { checkPlace } from '#authz/place.ts'
import { type Membership, type Principal, hasScope, membershipIn, isHeldToOne } from '#core/principal.ts'
import { type Scope, isScope, scopes } from '#core/scopes.ts'
import { shorten } from '#core/text/shorten.ts'

export type Channel =
  | { kind: 'user' | 'workspace' | 'chat' | 'operation'; id: Id; name: string }
  | { kind: 'custom'; workspaceId: Id; name: string }

/** Parses a channel name and normalizes its ID to upper case. Null if invalid. */
export function parseChannel(words: string): Channel | null {
  const [kind = '', first = '', ...rest] = words.split(':')
  const id = parseId(first)
  if (id === null) return null
  if (kind === 'custom') {
    const customName = rest.join(':')
    return /^[A-Za-z0-9._-]{1,64}$/.test(customName)
      ? { kind, workspaceId: id, name: `custom:${id}:${customName}` }
      : null
  }
  if (rest.length > 0) return null
  if (kind === 'user' || kind === 'workspace' || kind === 'chat' || kind === 'operation')
    return { kind, id, name: `${kind}:${id}` }
  return null
}

/** A readable channel and the events the caller receives on it. */
export interface Readable {
  channel: Channel
  /** The caller's scopes there; null: all. */
  scopes: ReadonlySet<Scope> | null
  /** The channel's workspace, if any, and the caller's membership or share. */
  workspaceId: Id | null
  place: Membership | null
  /** By share only, which ends while the resource is in the trash. */
  shared: boolean
}

/** Null if the channel doesn't exist or the caller can't read it. */
export async function readable(ctx: Context, channel: Channel): Promise<Readable | null> {
  const workspaceId = await placeOf(ctx, channel)
  if (workspaceId === 'nowhere') return null
  if (workspaceId === null) return { channel, workspaceId, place: null, shared: false, scopes: heardScopes(ctx, null) }
  const member = membershipIn(ctx.principal, workspaceId)
  if (member) return { channel, workspaceId, place: member, shared: false, scopes: heardScopes(ctx, member) }
  const shared =
    'id' in channel
      ? await sharedPlace(ctx.db, ctx.principal, channel.kind, { id: channel.id, workspace_id: workspaceId })
      : null
  // The share was revoked in the meantime.
  if (shared === null) return null
  return {
    channel,
    workspaceId,
    place: { ...shared, permissions: null },
    shared: true,
    scopes: heardScopes(ctx, shared),
  }
}

/** Returns the workspace of a readable channel; null if it belongs to none. */
async function placeOf(ctx: Context, channel: Channel): Promise<Id | null | 'nowhere'> {
  const { principal } = ctx
  switch (channel.kind) {
    case 'user': {
      // This channel has events of all workspaces, so keys limited to a workspace can't read it.
      const isLimited = isHeldToOne(principal)
      return channel.id === principal.accountId && !isLimited ? null : 'nowhere'
    }
    case 'custom':
      return membershipIn(principal, channel.workspaceId) ? channel.workspaceId : 'nowhere'
    case 'workspace':
      return (await invokeVisible(ctx, 'workspaces.get', channel.id)) ? channel.id : 'nowhere'
    case 'chat': {
      const chat = (await invokeVisible(ctx, 'chats.get', channel.id)) as { workspace_id: Id } | null
      return chat?.workspace_id ?? 'nowhere'
    }
    case 'operation':
      return (await invokeVisible(ctx, 'operations.get', channel.id)) ? null : 'nowhere'
  }
}

/** Uses the resource's own endpoint, so that both apply the same rules. Null if it refuses. */
async function invokeVisible(ctx: Context, name: string, id: Id): Promise<unknown> {
  try {
    return await ctx.invoke(name, { id })
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) return null
    throw error
  }
}

/** Key for roles without restrictions. */
const unrestricted = {}
const scopeSets = new WeakMap<Principal, WeakMap<object, ReadonlySet<Scope>>>()

/** Callers with the same credential and membership share one set, because there may be thousands. */
function heardScopes({ principal }: Context, membership: Membership | null): ReadonlySet<Scope> | null {
  const permissions = membership?.permissions ?? null
  if (principal.credential.kind === 'session' && permissions === null) return null
  const ofPrincipal = scopeSets.get(principal) ?? new WeakMap<object, ReadonlySet<Scope>>()
  scopeSets.set(principal, ofPrincipal)
  const scopeSet =
    ofPrincipal.get(permissions ?? unrestricted) ??
    new Set(scopes.filter((scope) => hasScope(principal, scope) && (permissions?.has(scope) ?? true)))
  ofPrincipal.set(permissions ?? unrestricted, scopeSet)
  return scopeSet
}

/** Throws `not_found` if the caller can't read the channel. */
export async function channelOf(ctx: Context, words: string): Promise<Readable> {
  const channel = parseChannel(words)
  return (
    (channel && (await readable(ctx, channel))) ??
    refuse('not_found', { param: 'channel', message: unknownChannel(words) })
  )
}

/** Viewers can't send, neither in the workspace nor on shared resources. */
export function checkMaySend({ place }: Readable): void {
  if (place) checkPlace(place, 'realtime:write')
}

export const unknownChannel = (words: string): string =>
  `The channel ${shorten(words, 130)} doesn’t exist, or you don’t have access to it.`

export const mayReceive = ({ scopes }: Pick<Readable, 'scopes'>, scope: Scope | null): boolean =>
  scope === null || scopes === null || (isScope(scope) && scopes.has(scope))
