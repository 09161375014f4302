import type { Context } from '#engine/context.ts'
import type { Id } from '#kernel/ids.ts'
import { goalEvent } from './goal-events.ts'
import { goalStore } from './goal-store.ts'

/** A stop of a run ends the goal that it was a turn of, or that was about to take the next. */
export async function endWith(ctx: Context, chatId: Id, runGoal: Id | null): Promise<boolean> {
  const active = await goalStore.active(ctx.db, chatId)
  if (!active || (runGoal !== null && runGoal !== active.id)) return false
  const ended = await goalStore.finish(ctx.db, active.id, 'ended')
  if (ended) await ctx.emit(goalEvent(ended, 'ended'))
  return ended !== undefined
}
