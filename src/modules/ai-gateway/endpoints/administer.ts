import type { Context } from '#infra/context.ts'
import { absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { membershipIn } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { type EndpointRow, INSTANCE } from '../store.ts'

/**
 * False for keys bound to another workspace and for anything started with one, because someone else may have the key.
 */
export function reachesWholeAccount({ principal: { credential, personalWorkspaceId } }: Context): boolean {
  return (
    credential.kind === 'session' || credential.workspaceId === null || credential.workspaceId === personalWorkspaceId
  )
}

export const isInstanceAdmin = (ctx: Context): boolean => ctx.principal.administrator && reachesWholeAccount(ctx)

export function administers(ctx: Context, owner: Id): boolean {
  if (owner === INSTANCE) return isInstanceAdmin(ctx)
  if (owner === ctx.principal.accountId) return reachesWholeAccount(ctx)
  const membership = membershipIn(ctx.principal, owner)
  return membership !== null && atLeast(membership.role, 'admin')
}

type Owner = Pick<EndpointRow, 'owner_id' | 'account_id' | 'workspace_id'>

export function ownerFor(ctx: Context, workspaceId: Id | null, instance: boolean): Owner {
  const { principal } = ctx
  if (instance) {
    if (workspaceId !== null)
      refuse('invalid_parameter', {
        param: 'workspace_id',
        message: 'An instance endpoint can’t belong to a workspace. Leave out `workspace_id`.',
      })
    if (!isInstanceAdmin(ctx))
      refuse('insufficient_role', {
        param: 'instance',
        message: 'Only an administrator of this instance can do this.',
      })
    return { owner_id: INSTANCE, account_id: null, workspace_id: null }
  }
  const id =
    workspaceId ??
    (reachesWholeAccount(ctx) || principal.credential.kind === 'session' ? null : principal.credential.workspaceId)
  if (id === null) return { owner_id: principal.accountId, account_id: principal.accountId, workspace_id: null }
  const membership =
    membershipIn(principal, id) ?? refuse('not_found', { param: 'workspace_id', message: absent('workspace', id) })
  checkPlace(membership, 'gateway:write', 'admin')
  checkWritable(membership)
  return { owner_id: id, account_id: null, workspace_id: id }
}
