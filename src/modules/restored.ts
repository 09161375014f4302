/** Cancels pending work of a restored instance, since the original may have done it already. */
import { sql } from 'kysely'
import type { WaitingJob } from '#infra/backup/load.ts'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'
import { scheduleOf } from './automations/schedule/schedule.ts'
import type { RunRow } from './chats/runs/run-store.ts'
import { cancelWaiting, endFromOutside } from './chats/runs/transitions.ts'

/** Jobs that only refresh internal data and contact no one outside. */
export const keepJob = ({ task }: WaitingJob): boolean => task.startsWith('search.')

export interface Settled {
  what: string
  count: number
}

const WORDS = 'The instance was restored from a backup while this was in progress.'
const INTERRUPTED = JSON.stringify({ type: 'unavailable', code: 'interrupted', message: WORDS })
/** Consumers that contact the outside or start work. Index consumers continue. */
const TELLING = ['webhooks', 'notifications', 'automations', 'chats.goals']

/**
 * Cancels everything that would leave this server after its start. Commands on computers aren't touched: they ended
 * or are still running there.
 */
export async function settleRestored(db: Db): Promise<Settled[]> {
  const settled: Settled[] = []
  const count = async (what: string, statement: ReturnType<typeof sql>): Promise<void> => {
    const { numAffectedRows } = await statement.execute(db)
    settled.push({ what, count: Number(numAffectedRows ?? 0) })
  }
  settled.push({ what: 'chat runs, stopped', count: await endRuns(db) })
  await count(
    'goals, ended',
    sql`update goals set status = 'ended', completed_at = now(), process_id = null, updated_at = ${nextTime} where status = 'active'`,
  )
  await count(
    'automation runs, canceled',
    sql`update automation_runs set status = 'cancelled', completed_at = now(), error = ${INTERRUPTED}::json, updated_at = ${nextTime}
      where status in ('queued', 'running')`,
  )
  settled.push({ what: 'missed automation runs, skipped', count: await passTicks(db) })
  await count(
    'operations, ended',
    sql`update operations set status = 'failed', completed_at = now(), error = ${INTERRUPTED}::jsonb, process_id = null, updated_at = ${nextTime}
      where status = 'queued' or (status = 'running' and kind <> 'computers.exec')`,
  )
  await count(
    'media calls, canceled',
    sql`update media_jobs set status = 'over', error = ${INTERRUPTED}::jsonb, updated_at = ${nextTime} where status <> 'over'`,
  )
  // Their final cost can't be fetched, so they are settled on an estimate, like those of a dead process.
  await sql`update reservations set outlives_process = false where outlives_process`.execute(db)
  await count(
    'webhook deliveries, canceled',
    sql`update webhook_deliveries set status = 'cancelled', due_at = null, completed_at = now(), updated_at = ${nextTime} where status = 'waiting'`,
  )
  await count(
    'notification emails and pushes, skipped',
    sql`update notification_deliveries set status = 'skipped', error = ${WORDS}, claimed_by = null, updated_at = ${nextTime} where status = 'waiting'`,
  )
  await tellNobody(db)
  return settled.filter((one) => one.count > 0)
}

async function endRuns(db: Db): Promise<number> {
  const { rows } = await sql<RunRow>`select * from runs where status in ('queued', 'running', 'requires_action')
    order by place`.execute(db)
  const nobody: Id = newId()
  for (const run of rows) {
    if (run.status === 'running') await endFromOutside(db, run, nobody, { status: 'cancelled' })
    else await cancelWaiting(db, run)
  }
  return rows.length
}

async function passTicks(db: Db): Promise<number> {
  const { rows } = await sql<{ id: Id; schedule: string; time_zone: string; now: Date }>`
    select id, schedule, time_zone, now() as now from automations where next_fire_at <= now()`.execute(db)
  for (const { id, schedule, time_zone, now } of rows) {
    const next = nextTick(schedule, time_zone, now)
    await sql`update automations set next_fire_at = ${next} where id = ${id}`.execute(db)
  }
  return rows.length
}

function nextTick(schedule: string, timeZone: string, now: Date): Date | null {
  try {
    return scheduleOf(schedule, timeZone).next(now)
  } catch {
    // The schedule has no further times, or its time zone is unknown here.
    return null
  }
}

/** Skips unprocessed events for all consumers except the search index. */
async function tellNobody(db: Db): Promise<void> {
  await sql`insert into deliveries (consumer, seq, event)
    select 'search', seq, to_jsonb(o) - 'seq' - 'xid' from outbox o on conflict do nothing`.execute(db)
  await sql`delete from outbox`.execute(db)
  await sql`delete from deliveries where consumer = any(${TELLING}::text[])`.execute(db)
}
