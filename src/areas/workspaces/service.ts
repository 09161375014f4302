import type { Context } from '#engine/context.ts'
import { hash } from 'node:crypto'
import { newId } from '#kernel/ids.ts'
import { memberStore, workspaceStore, invitationStore } from './store.ts'

/** The workspace that every account has from its first moment on, and cannot lose. */
export async function createPersonalWorkspace(ctx: Context, id: string, accountId: string): Promise<void> {
  await workspaceStore.insert(ctx.db, {
    id,
    name: 'Personal',
    description: null,
    kind: 'personal',
    created_by: accountId,
  })
  await memberStore.insert(ctx.db, {
    id: newId(),
    workspace_id: id,
    account_id: accountId,
    role: 'owner',
    permissions: null,
    created_by: accountId,
  })
}

/** Whether somebody holds a pending invitation with this token. */
export const isInvited = (ctx: Context, token: string): Promise<boolean> =>
  invitationStore.isPending(ctx.db, hash('sha256', token, 'buffer'))
