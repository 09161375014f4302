import type { Context } from '#infra/context.ts'
import type { Resource } from '#core/context.ts'
import { thingAt } from '#core/contract.ts'
import { sharedPlace } from './shares.ts'
import { absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { isLentByOthers } from '#core/lenders.ts'
import { checkPlace, checkWritable } from './place.ts'
import { type Membership, isHeldToOne, membershipIn } from '#core/principal.ts'
import type { Entry } from '#core/registry.ts'

/**
 * Loads the resource and workspace of a call and compares the caller's role with the endpoint's requirement. Resources
 * the caller can't know of are a 404, like missing ones.
 */
export async function permit(ctx: Context, entry: Entry<Context>, input: Record<string, unknown>): Promise<void> {
  const { endpoint, finder } = entry
  if (endpoint.ofAccount) checkStandsForAccount(ctx)
  if ((endpoint.ofAccount || endpoint.personal) && isLentByOthers(ctx.principal))
    refuse('capability_denied', {
      message: 'Another member chose this agent’s tools, so the agent can’t access your personal data.',
    })
  if (finder !== null) {
    const [name] = /:(\w+)/.exec(endpoint.path)!.slice(1)
    const id = input[name!] as Id
    const notFound = { param: name!, message: absent(thingAt(endpoint.path, name!), id) }
    const resource = await finder.find(ctx, id)
    if (resource === null) refuse('not_found', notFound)
    ctx.resource = resource
    const membership = placeOf(ctx, resource) ?? (await placeByShare(ctx, entry, resource))
    if (membership === null) refuse('not_found', notFound)
    if (resource.workspace_id !== null) ctx.workspace = { id: resource.workspace_id, membership }
    else if (resource.place == null && !onlyReads(entry)) checkStandsForAccount(ctx)
    checkPlace(membership, endpoint.onScope ?? endpoint.scope, endpoint.role)
    checkStatus(entry, resource, membership)
    if (endpoint.capability !== undefined) resource.checkCapability?.(endpoint.capability, endpoint.scope)
    return
  }
  if (endpoint.within !== undefined) {
    const workspaceId = input[endpoint.within] as Id | undefined
    const { credential, personalWorkspaceId } = ctx.principal
    const id = workspaceId ?? (credential.kind === 'session' ? null : credential.workspaceId) ?? personalWorkspaceId
    const membership = membershipIn(ctx.principal, id)
    if (membership === null) refuse('not_found', { param: endpoint.within, message: absent('workspace', id) })
    ctx.workspace = { id, membership }
    checkPlace(membership, endpoint.scope, endpoint.role)
    checkStatus(entry, null, membership)
  }
}

/** A key or agent bound to one workspace may be used by someone other than the account's owner. */
function checkStandsForAccount({ principal }: Context): void {
  if (isHeldToOne(principal))
    refuse('capability_denied', {
      message: 'This key is restricted to one workspace, so it can’t change account settings.',
    })
}

const onlyReads = ({ endpoint }: Entry<Context>): boolean =>
  endpoint.method === 'GET' || (endpoint.onScope ?? endpoint.scope)?.endsWith(':read') === true

const own: Membership = { role: 'owner', permissions: null, status: 'active' }

/**
 * The caller's membership in the resource's workspace, or as owner if it belongs to an account. Having created a
 * resource grants no lasting access. Null: a stranger.
 */
function placeOf({ principal }: Context, resource: Resource): Membership | null {
  if (resource.place) return resource.place
  if (resource.workspace_id !== null) return membershipIn(principal, resource.workspace_id)
  return resource.account_id != null && resource.account_id === principal.accountId ? own : null
}

/** The membership from a share, if it suffices for this endpoint. Trashed resources aren't shared. */
async function placeByShare(
  ctx: Context,
  { endpoint }: Entry<Context>,
  resource: Resource,
): Promise<Membership | null> {
  if (resource.status === 'trashed') return null
  const place = await sharedPlace(ctx.db, ctx.principal, endpoint.on!, resource)
  if (place === null) return null
  const reads = (endpoint.onScope ?? endpoint.scope)?.endsWith(':read') === true
  const requiredAccess = endpoint.onShare ?? (reads && endpoint.role === undefined ? 'view' : 'none')
  if (requiredAccess === 'none')
    refuse('insufficient_role', {
      message: `This ${endpoint.on} is shared with you. Only members of its workspace can do this.`,
    })
  if (requiredAccess === 'edit' && place.access === 'view')
    refuse('insufficient_role', {
      message: `You have view access to this ${endpoint.on}. Ask its owner for edit access.`,
    })
  return place
}

function checkStatus(entry: Entry<Context>, resource: Resource | null, membership: Membership): void {
  const { endpoint } = entry
  if (onlyReads(entry)) return
  if (endpoint.on !== 'workspace' && !endpoint.inArchivedWorkspace) checkWritable(membership)
  if (endpoint.inAnyStatus || resource?.status === undefined || resource.status === 'active') return
  if (resource.status === 'trashed')
    refuse('invalid_state', {
      message: `This ${endpoint.on} is in the trash. Restore it before you change it.`,
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
}
