import type { Context, Engine } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { stopAll } from './accept.ts'
import { settled } from '../worker/follow.ts'
import { endWith } from '../goals/goal-end.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import { runsOf } from '../worker/runs.ts'
import { chatStore } from '../store.ts'
import { claimNext, endFromOutside } from '../runs/transitions.ts'

/** How long a run may take to end by itself. Stopped runs must have ended within 10 s. */
const GRACE_MS = 5_000

/** Stops a run, by default the one that goes first; answers it as it has ended. */
export async function stop(outer: Context, chatId: Id, runId: Id | undefined): Promise<RunRow> {
  const { engine } = outer
  const asked = await outer.transaction(async (ctx) => {
    if ((await chatStore.hold(ctx.db, chatId)) === null) refuse('not_found', { param: 'id' })
    const run = await theOne(ctx, chatId, runId)
    const going = run.status !== 'completed' && run.status !== 'failed' && run.status !== 'cancelled'
    const ended = (going ? run.goal_id !== null : runId === undefined) && (await endWith(ctx, chatId, run.goal_id))
    // Stopped between two turns: the goal was what went on.
    if (ended && !going) return run
    if (run.status === 'cancelled') return run
    if (run.status === 'completed' || run.status === 'failed')
      return refuse('invalid_state', {
        message: `There is nothing to stop: the run has ${run.status}.`,
        details: { status: run.status, allowed: run.status === 'failed' ? ['retry'] : [] },
      })
    await stopAll(ctx, [run])
    const next = await claimNext(ctx.db, chatId, engine.processId)
    if (next) ctx.afterCommit(() => runsOf(engine).begin(next))
    return run
  })
  engine.bus.poke('outbox')
  if (asked.status === 'cancelled' || asked.status === 'completed' || asked.status === 'failed') return asked
  await finish(outer, asked)
  return (await runStore.get(outer.db, chatId, asked.id)) ?? refuse('not_found', { param: 'id' })
}

async function theOne(ctx: Context, chatId: Id, runId: Id | undefined): Promise<RunRow> {
  if (runId !== undefined)
    return (
      (await runStore.get(ctx.db, chatId, runId)) ??
      refuse('not_found', { param: 'run_id', message: 'There is no such run in this chat.' })
    )
  const [first] = await runStore.unfinished(ctx.db, chatId)
  const run = first ?? (await runStore.newest(ctx.db, chatId))
  return (
    run ?? refuse('invalid_state', { message: 'This chat has no run to stop.', details: { status: null, allowed: [] } })
  )
}

/** The same for the server itself, which asks nobody: the run is stopped if it goes on. */
export async function stopRun(engine: Engine, chatId: Id, runId: Id): Promise<void> {
  const done = await engine.postgres.db.transaction().execute(async (db) => {
    if ((await chatStore.hold(db, chatId)) === null) return null
    const run = await runStore.get(db, chatId, runId)
    if (!run || run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled') return null
    await stopAll({ db }, [run])
    return { run, next: await claimNext(db, chatId, engine.processId) }
  })
  if (done === null) return
  if (done.next) runsOf(engine).begin(done.next)
  engine.bus.poke('outbox')
  await finish({ engine }, done.run)
}

/** Sees a run to its end that was asked to stop: by itself, else by taking it from a process that does not answer. */
async function finish({ engine }: { engine: Engine }, { id, chat_id }: RunRow): Promise<void> {
  const runs = runsOf(engine)
  runs.stop([id])
  // Also when the caller has left: what was begun is done.
  if ((await settled(engine, id, GRACE_MS, new AbortController().signal)) !== null) return
  const next = await engine.postgres.db.transaction().execute(async (tx) => {
    if ((await chatStore.hold(tx, chat_id)) === null) return null
    const run = await runStore.get(tx, chat_id, id)
    if (run?.status === 'running') await endFromOutside(tx, run, engine.processId, { status: 'cancelled' })
    return claimNext(tx, chat_id, engine.processId)
  })
  if (next) runs.begin(next)
}
