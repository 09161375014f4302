import type { Context } from '#infra/context.ts'
import { type ResourceAccess, type WorkspaceAccess, requiredShare, resourceScopeOf } from '#core/access.ts'
import type { Resource } from '#core/context.ts'
import { type Method, pathNames, thingAt } from '#core/contract.ts'
import { sharedPlace } from './shares.ts'
import { absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { isLentByOthers } from '#core/lenders.ts'
import { checkPlace, checkWritable } from './place.ts'
import { type Membership, isHeldToOne, membershipIn } from '#core/principal.ts'
import type { Entry } from '#core/registry.ts'
import type { Scope } from '#core/scopes.ts'

/**
 * Loads the resource and workspace of a call and compares the caller's role with the endpoint's access rule. Resources
 * the caller can't know of are a 404, like missing ones.
 */
export async function permit(ctx: Context, entry: Entry<Context>, input: Record<string, unknown>): Promise<void> {
  const { access } = entry.endpoint
  switch (access.kind) {
    case 'resource':
      return permitOnResource(ctx, entry, access, input)
    case 'workspace':
      return permitInWorkspace(ctx, entry, access, input.workspace_id as Id | undefined)
    case 'account':
      checkStandsForAccount(ctx)
      return checkPersonal(ctx)
    case 'personal':
      return checkPersonal(ctx)
    // The pipeline checked the scope and the credential.
    case 'scope':
    case 'session':
    case 'sign_in':
    case 'secret':
    case 'open':
      return
    default:
      return access satisfies never
  }
}

async function permitOnResource(
  ctx: Context,
  { endpoint: { method, path }, finder }: Entry<Context>,
  access: ResourceAccess,
  input: Record<string, unknown>,
): Promise<void> {
  const name = pathNames(path)[0]!
  const id = input[name] as Id
  const notFound = { param: name, message: absent(thingAt(path, name), id) }
  const resource = await finder!.find(ctx, id)
  if (resource === null) refuse('not_found', notFound)
  ctx.resource = resource
  const membership = placeOf(ctx, resource) ?? (await placeByShare(ctx, access, resource))
  if (membership === null) refuse('not_found', notFound)
  const resourceScope = resourceScopeOf(access)
  const changes = isChange(method, resourceScope)
  if (resource.workspace_id !== null) ctx.workspace = { id: resource.workspace_id, membership }
  else if (resource.place == null && changes) checkStandsForAccount(ctx)
  checkPlace(membership, resourceScope, access.role)
  if (changes) {
    if (access.type !== 'workspace' && !access.inArchivedWorkspace) checkWritable(membership)
    if (!access.inTrash) checkNotTrashed(access, resource)
  }
  if (access.capability !== undefined) resource.checkCapability?.(access.capability, access.scope)
}

function permitInWorkspace(
  ctx: Context,
  { endpoint: { method } }: Entry<Context>,
  { scope, role }: WorkspaceAccess,
  workspaceId: Id | undefined,
): void {
  const { credential, personalWorkspaceId } = ctx.principal
  const id = workspaceId ?? (credential.kind === 'session' ? null : credential.workspaceId) ?? personalWorkspaceId
  const membership = membershipIn(ctx.principal, id)
  if (membership === null) refuse('not_found', { param: 'workspace_id', message: absent('workspace', id) })
  ctx.workspace = { id, membership }
  checkPlace(membership, scope, role)
  if (isChange(method, scope)) checkWritable(membership)
}

/** A key or agent bound to one workspace may be used by someone other than the account's owner. */
function checkStandsForAccount({ principal }: Context): void {
  if (isHeldToOne(principal))
    refuse('capability_denied', {
      message: 'This key is restricted to one workspace, so it can’t change account settings.',
    })
}

function checkPersonal({ principal }: Context): void {
  if (isLentByOthers(principal))
    refuse('capability_denied', {
      message: 'Another member chose this agent’s tools, so the agent can’t access your personal data.',
    })
}

const isChange = (method: Method, scope: Scope): boolean => method !== 'GET' && !scope.endsWith(':read')

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
async function placeByShare(ctx: Context, access: ResourceAccess, resource: Resource): Promise<Membership | null> {
  if (resource.status === 'trashed') return null
  const place = await sharedPlace(ctx.db, ctx.principal, access.type, resource)
  if (place === null) return null
  const share = requiredShare(access)
  if (share === 'none')
    refuse('insufficient_role', {
      message: `This ${access.type} is shared with you. Only members of its workspace can do this.`,
    })
  if (share === 'edit' && place.access === 'view')
    refuse('insufficient_role', {
      message: `You have view access to this ${access.type}. Ask its owner for edit access.`,
    })
  return place
}

function checkNotTrashed({ type }: ResourceAccess, { status }: Resource): void {
  if (status === 'trashed')
    refuse('invalid_state', {
      message: `This ${type} is in the trash. Restore it before you change it.`,
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
}
