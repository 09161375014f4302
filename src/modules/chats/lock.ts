import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type LockedChat, chatStore } from './store.ts'

/** The chat's turn, refused where it is gone or put away. */
export async function lockActiveChat(ctx: Context, id: Id): Promise<LockedChat> {
  const locked = (await chatStore.lock(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
  if (ctx.unchangedSince && ctx.unchangedSince.getTime() !== locked.updated_at.getTime()) refuse('precondition_failed')
  if (locked.status !== 'active')
    refuse('invalid_state', {
      message: `This chat is ${locked.status === 'archived' ? 'archived' : 'in the trash'}, so it’s read-only. Restore it before you change it.`,
      details: {
        status: locked.status,
        allowed: locked.status === 'archived' ? ['unarchive', 'trash'] : ['restore', 'permanent-delete'],
      },
    })
  return locked
}
