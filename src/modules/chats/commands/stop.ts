import type { Context, Engine } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { untilSettled } from '../worker/follow.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { chatStore } from '../store.ts'
import { cancelWaiting, claimNext, endFromOutside } from '../runs/transitions.ts'

/** Time for a run to stop cooperatively. Stopped runs must end within 10 s. */
const GRACE_MS = 5_000

/**
 * Cancels waiting runs and asks running ones to stop. Returns the running ones: pass them to `Runs.stop` after the
 * commit.
 */
export async function stopAll(ctx: Pick<Context, 'db'>, runs: readonly RunRow[]): Promise<RunRow[]> {
  const running: RunRow[] = []
  for (const run of runs) {
    const stoppingRun = await runStore.requestCancel(ctx.db, run.id)
    if (stoppingRun?.status === 'running') running.push(stoppingRun)
    else if (stoppingRun) await cancelWaiting(ctx.db, stoppingRun)
  }
  return running
}

export async function stopRun(engine: Engine<ChatHandles>, chatId: Id, runId: Id): Promise<void> {
  const result = await engine.postgres.db.transaction().execute(async (db) => {
    if ((await chatStore.lock(db, chatId)) === null) return null
    const run = await runStore.get(db, chatId, runId)
    if (!run || run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled') return null
    await stopAll({ db }, [run])
    return { run, next: await claimNext(db, chatId, engine.processId) }
  })
  if (result === null) return
  if (result.next) engine.runs.begin(result.next)
  engine.bus.poke('outbox')
  await ensureStopped({ engine }, result.run)
}

export async function ensureStopped(
  { engine }: { engine: Engine<ChatHandles> },
  { id, chat_id }: RunRow,
): Promise<void> {
  const { runs } = engine
  runs.stop([id])
  // Finishes even if the caller disconnects.
  if ((await untilSettled(engine, id, GRACE_MS, new AbortController().signal)) !== null) return
  const next = await engine.postgres.db.transaction().execute(async (tx) => {
    if ((await chatStore.lock(tx, chat_id)) === null) return null
    const run = await runStore.get(tx, chat_id, id)
    if (run?.status === 'running') await endFromOutside(tx, run, engine.processId, { status: 'cancelled' })
    return claimNext(tx, chat_id, engine.processId)
  })
  if (next) runs.begin(next)
}
