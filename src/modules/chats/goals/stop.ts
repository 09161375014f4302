import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { ensureStopped, stopAll } from '../commands/stop.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import { claimNext } from '../runs/transitions.ts'
import { chatStore } from '../store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { goalStore } from './goal-store.ts'
import { goalEvent } from './show.ts'

export async function stop(outer: Context<ChatHandles>, chatId: Id, runId: Id | undefined): Promise<RunRow> {
  const { engine } = outer
  const run = await outer.transaction(async (ctx) => {
    if ((await chatStore.lock(ctx.db, chatId)) === null) refuse('not_found', { param: 'id' })
    const run = await runToStop(ctx, chatId, runId)
    const isActive = run.status !== 'completed' && run.status !== 'failed' && run.status !== 'cancelled'
    const goalEnded =
      (isActive ? run.goal_id !== null : runId === undefined) && (await endGoalWithRun(ctx, chatId, run.goal_id))
    if (goalEnded && !isActive) return run
    if (run.status === 'cancelled') return run
    if (run.status === 'completed' || run.status === 'failed')
      return refuse('invalid_state', {
        message: `There is nothing to stop. The run’s status is ${run.status}.`,
        details: { status: run.status, allowed: run.status === 'failed' ? ['retry'] : [] },
      })
    await stopAll(ctx, [run])
    const next = await claimNext(ctx.db, chatId, engine.processId)
    if (next) ctx.afterCommit(() => engine.runs.begin(next))
    return run
  })
  engine.bus.poke('outbox')
  if (run.status === 'cancelled' || run.status === 'completed' || run.status === 'failed') return run
  await ensureStopped(outer, run)
  return (await runStore.get(outer.db, chatId, run.id)) ?? refuse('not_found', { param: 'id' })
}

async function runToStop(ctx: Context, chatId: Id, runId: Id | undefined): Promise<RunRow> {
  if (runId !== undefined)
    return (
      (await runStore.get(ctx.db, chatId, runId)) ??
      refuse('not_found', { param: 'run_id', message: 'The run doesn’t exist in this chat.' })
    )
  const [first] = await runStore.unfinished(ctx.db, chatId)
  const run = first ?? (await runStore.newest(ctx.db, chatId))
  return (
    run ??
    refuse('invalid_state', { message: 'This chat has no active run to stop.', details: { status: null, allowed: [] } })
  )
}

export async function endGoalWithRun(ctx: Context, chatId: Id, runGoal: Id | null): Promise<boolean> {
  const active = await goalStore.active(ctx.db, chatId)
  if (!active || (runGoal !== null && runGoal !== active.id)) return false
  const endedGoal = await goalStore.finish(ctx.db, active.id, 'ended')
  if (endedGoal) await ctx.emit(goalEvent(endedGoal, 'ended'))
  return endedGoal !== undefined
}
