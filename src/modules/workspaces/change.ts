import { writeAudit } from '#authz/audit.ts'
import type { Context } from '#infra/context.ts'
import { rightsChanged } from '#authz/rights.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type NamedMember, memberStore } from './member-store.ts'
import { type WorkspaceRow, workspaceStore } from './store.ts'

/** A workspace that is held until the transaction ends, and the caller's place in it as it is now. */
export interface LockedWorkspace {
  workspace: WorkspaceRow
  me: NamedMember
}

/**
 * Changes who may do what in the workspace of the call. It is held meanwhile and the caller's membership read again:
 * of two who change each other at once, the second is judged by what the first left. In force here when it resolves.
 */
export function changeWithin<T>(
  ctx: Context,
  change: (ctx: Context, locked: LockedWorkspace) => Promise<T>,
): Promise<T> {
  return changeRights(ctx, async (ctx) => {
    const workspace = await lockWorkspace(ctx, ctx.workspace!.id)
    const me = await memberStore.get(ctx.db, workspace.id, ctx.principal.accountId)
    return change(ctx, { workspace, me: me ?? refuse('not_found', { param: 'id' }) })
  })
}

export async function changeRights<T>(ctx: Context, change: (ctx: Context) => Promise<T>): Promise<T> {
  const result = await ctx.transaction(change)
  await ctx.engine.rights.refresh()
  return result
}

export const lockWorkspace = async (ctx: Context, workspaceId: Id): Promise<WorkspaceRow> =>
  (await workspaceStore.lock(ctx.db, workspaceId)) ?? refuse('not_found', { param: 'id' })

export interface RightsChange {
  /** `member.added`: the event's type, and the word in the audit. */
  action: string
  workspaceId: Id
  id: Id
  /** The accounts whose rights are others now. They hear of it too. */
  accountIds?: readonly Id[]
  data: Record<string, unknown>
  /** Details for the audit alone. */
  details?: Record<string, unknown>
}

/** Says in the transaction of a change what it was: to the other processes, to the audit, and as an event. */
export async function recordRightsChange(
  ctx: Context,
  { action, workspaceId, id, accountIds = [], data, details }: RightsChange,
): Promise<void> {
  const subject = { type: action.slice(0, action.indexOf('.')), id }
  await rightsChanged(ctx.db, accountIds)
  await writeAudit(ctx, { action, workspaceId, subject, details: { ...data, ...details } })
  await ctx.emit({
    type: action,
    channels: [`workspace:${workspaceId}`, ...accountIds.map((accountId) => `user:${accountId}`)],
    resource: subject,
    data: { id, workspace_id: workspaceId, ...data },
  })
}

/** A personal workspace is its owner's alone and stays. */
export function refusePersonal({ kind }: Pick<WorkspaceRow, 'kind'>, message: string): void {
  if (kind === 'personal') refuse('personal_workspace', { message })
}
