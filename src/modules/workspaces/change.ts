import { writeAudit } from '#authz/audit.ts'
import type { Context } from '#infra/context.ts'
import { rightsChanged } from '#authz/rights.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type NamedMember, memberStore } from './member-store.ts'
import { type WorkspaceRow, workspaceStore } from './store.ts'

export interface LockedWorkspace {
  workspace: WorkspaceRow
  me: NamedMember
}

/**
 * Changes permissions under a lock and with the caller's membership re-read, so of two members changing each other
 * at once the second is checked against the first's result. In effect here when it resolves.
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
  /** The event type and audit action, such as `member.added`. */
  action: string
  workspaceId: Id
  id: Id
  /** Accounts whose permissions changed. They receive the event too. */
  accountIds?: readonly Id[]
  data: Record<string, unknown>
  details?: Record<string, unknown>
}

/** Records a change in its transaction: for other processes, the audit and as an event. */
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

/** Rejects changes to a personal workspace, which has one owner and can't be deleted. */
export function refusePersonal({ kind }: Pick<WorkspaceRow, 'kind'>, message: string): void {
  if (kind === 'personal') refuse('personal_workspace', { message })
}
