import { visibleWorkspaces } from '#authz/resources.ts'
import { sharedThings } from '#authz/shares.ts'
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'

/** The places a caller may search, following the rules of lists and shares. */
export interface Within {
  workspaces: readonly Id[]
  shared: readonly Id[]
  sharedFolders: readonly Id[]
}

/** The places for glob and grep: the caller's workspaces and shares, or one workspace. */
export async function within(ctx: Context, workspaceId: Id | undefined): Promise<Within> {
  const workspaces = visibleWorkspaces(ctx, 'drive:read', workspaceId)
  if (workspaceId !== undefined) return { workspaces, shared: [], sharedFolders: [] }
  return { workspaces, ...(await sharedThings(ctx.db, ctx.principal, 'drive:read')) }
}
