import { visibleWorkspaces } from '#authz/resources.ts'
import { sharedThings } from '#authz/shares.ts'
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'

/** The places where a caller may find something: the rule of lists and of shares, inside the query. */
export interface Within {
  /** Workspaces from `visibleWorkspaces`. */
  workspaces: readonly Id[]
  shared: readonly Id[]
  sharedFolders: readonly Id[]
}

/** The places where glob and grep look: the caller's workspaces and what was shared with it, or one workspace. */
export async function within(ctx: Context, workspaceId: Id | undefined): Promise<Within> {
  const workspaces = visibleWorkspaces(ctx, 'drive:read', workspaceId)
  if (workspaceId !== undefined) return { workspaces, shared: [], sharedFolders: [] }
  return { workspaces, ...(await sharedThings(ctx.db, ctx.principal, 'drive:read')) }
}
