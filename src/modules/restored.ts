/**
 * Ends what a restored instance must not go on with by itself: the one that it was copied from may have done it since.
 */
import { sql } from 'kysely'
import type { WaitingJob } from '#infra/backup/load.ts'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'
import { scheduleOf } from './automations/schedule/schedule.ts'
import type { RunRow } from './chats/runs/run-store.ts'
import { cancelWaiting, endFromOutside } from './chats/runs/transitions.ts'

/** Jobs that only bring what is kept up to date: nobody outside hears of them. */
export const keepJob = ({ task }: WaitingJob): boolean => task.startsWith('search.')

/** A kind of thing that was not gone on with, and how many there were. */
export interface Settled {
  what: string
  count: number
}

const WORDS = 'The instance was restored from a backup while this was in progress.'
const INTERRUPTED = JSON.stringify({ type: 'unavailable', code: 'interrupted', message: WORDS })
/** Consumers of events that tell somebody outside or begin work; those that keep indexes up to date go on. */
const TELLING = ['webhooks', 'notifications', 'automations', 'chats.goals']

/**
 * Ends what would leave this server once it starts: mails, pushes and webhooks that waited, runs and operations that were under way,
 * ticks that have passed. Commands that go on on computers are left alone: they ended there, or still go on.
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
  // Nobody asks a vendor for their end any more: they are settled on an estimate, as those of a process that died.
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

/** The next tick of each automation is one that lies before us. */
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
    // It fires no more, or its zone is not known here.
    return null
  }
}

/** Skips events that were written but not told yet: they reach the indexes, and nobody else. */
async function tellNobody(db: Db): Promise<void> {
  await sql`insert into deliveries (consumer, seq, event)
    select 'search', seq, to_jsonb(o) - 'seq' - 'xid' from outbox o on conflict do nothing`.execute(db)
  await sql`delete from outbox`.execute(db)
  await sql`delete from deliveries where consumer = any(${TELLING}::text[])`.execute(db)
}
