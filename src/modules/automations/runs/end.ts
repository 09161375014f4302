import { sql } from 'kysely'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Nano } from '#core/money.ts'
import { automationEvent } from '../events.ts'
import { type AutomationRunRow, runStore } from './run-store.ts'
import { automationStore } from '../store.ts'
import { runEvent } from './show-run.ts'

/** Consecutive failures until the automation is archived. */
const MAX_FAILURES = 10

export interface End {
  status: 'succeeded' | 'failed' | 'cancelled' | 'timed_out'
  error: ErrorBody['error'] | null
  /** For all attempts. Null: unknown. */
  cost: Nano | null
}

const verbs = { succeeded: 'succeeded', failed: 'failed', timed_out: 'failed', cancelled: 'cancelled' } as const

/**
 * Ends a locked run. A run that has already ended only gets its cost. Emits the event and pauses an automation after
 * too many failures.
 */
export async function end(db: Db, run: AutomationRunRow, { status, error, cost }: End): Promise<AutomationRunRow> {
  const totalCost = cost === null || (run.cost_nano !== null && run.cost_nano >= cost) ? run.cost_nano : cost
  if (run.status !== 'queued' && run.status !== 'running')
    return totalCost === run.cost_nano ? run : runStore.update(db, run.id, { cost_nano: totalCost })
  const now = new Date()
  const endedRun = await runStore.update(db, run.id, {
    status,
    error: error === null ? null : JSON.stringify(error),
    cost_nano: totalCost,
    completed_at: now,
  })
  const automation = await automationStore.lock(db, run.automation_id)
  if (!automation) return endedRun
  await writeOutbox(db, runEvent(endedRun, verbs[status], automation), null)
  if (status === 'succeeded' && automation.failures > 0)
    await automationStore.update(db, automation.id, { failures: 0 })
  if (status !== 'failed' && status !== 'timed_out') return endedRun
  const failures = automation.failures + 1
  // Another pause must stay visible until it's resolved.
  const awake = automation.status === 'active' && automation.paused_reason === null
  const pause = failures >= MAX_FAILURES && awake && run.trigger !== 'test'
  await automationStore.update(db, automation.id, {
    failures,
    ...(pause && { paused_reason: 'failures', paused_at: now }),
  })
  if (!pause) return endedRun
  await sql`update resources set status = 'archived', archived_at = ${now},
    updated_at = greatest(clock_timestamp(), updated_at + interval '1 millisecond') where id = ${automation.id}`.execute(
    db,
  )
  await writeOutbox(
    db,
    automationEvent({ ...automation, status: 'archived', paused_reason: 'failures' }, 'paused'),
    null,
  )
  return endedRun
}
