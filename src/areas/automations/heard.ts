import { runOutcome } from '#areas/chats/service.ts'
import type { Engine } from '#engine/context.ts'
import type { Consumer } from '#engine/deliveries.ts'
import type { Id } from '#kernel/ids.ts'
import { end } from './ending.ts'
import { runStore } from './store.ts'
import { stopRuns } from './stop.ts'

const status = { completed: 'succeeded', failed: 'failed', cancelled: 'cancelled' } as const

/** A run of a chat has ended: if an automation started it, so has the automation's run. */
export const automationConsumer = (engine: Engine): Consumer => ({
  name: 'automations.runs',
  types: ['run.completed', 'run.failed', 'run.cancelled'],
  handle: ({ resource_id }) => hear(engine, resource_id as Id),
})

async function hear(engine: Engine, runId: Id): Promise<void> {
  const heard = await engine.postgres.db.transaction().execute(async (db) => {
    const run = await runStore.byRun(db, runId)
    if (!run) return false
    const outcome = await runOutcome(db, runId)
    if (outcome === null)
      await end(db, run, {
        status: 'failed',
        error: { type: 'not_found', message: 'The chat of this run is gone.' },
        cost: null,
      })
    else if (outcome.status in status)
      await end(db, run, {
        status: status[outcome.status as keyof typeof status],
        error: outcome.error,
        cost: outcome.cost,
      })
    return true
  })
  if (!heard) return
  engine.bus.poke('outbox')
  engine.bus.poke('automations')
}

/** What no event told of, and what has gone on for too long. */
export async function tendRuns(engine: Engine): Promise<void> {
  const { db } = engine.postgres
  for (const runId of await runStore.unheard(db)) await hear(engine, runId)
  await stopRuns(
    engine,
    (await runStore.overdue(db)).map(({ id }) => id),
    'timed_out',
  )
}
