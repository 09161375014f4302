import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type LockedChat, chatStore } from './store.ts'

/**
 * Locks the chat until the transaction ends. Throws `not_found`, `precondition_failed`, or `invalid_state` if it is
 * archived or in the trash.
 */
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
