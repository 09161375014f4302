import type { Context } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { type HeldChat, chatStore } from './store.ts'

/** The chat's turn, refused where it is gone or put away. */
export async function holdActive(ctx: Context, id: Id): Promise<HeldChat> {
  const held = (await chatStore.hold(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
  if (ctx.unchangedSince && ctx.unchangedSince.getTime() !== held.updated_at.getTime()) refuse('precondition_failed')
  if (held.status !== 'active')
    refuse('invalid_state', {
      message: `This chat is ${held.status === 'archived' ? 'archived' : 'in the trash'}, so it is read-only.`,
      details: {
        status: held.status,
        allowed: held.status === 'archived' ? ['unarchive', 'trash'] : ['restore', 'permanent-delete'],
      },
    })
  return held
}
