import { sql } from 'kysely'
import type { Engine } from '#infra/context.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import type { Db } from '#infra/postgres/client.ts'

/** Far longer than any statement that started before a deletion. */
const LATE_SECONDS = 300

/**
 * Deletes rows written for a run during its deletion: event batches read the run without a lock, so that writers don't
 * wait for deletions.
 */
export async function removeLateWrites(db: Db, olderThanSeconds = LATE_SECONDS): Promise<void> {
  await sql`with late as (
      delete from deleted_runs where deleted_at < now() - make_interval(secs => ${olderThanSeconds}) returning id
    ), events as (delete from run_events where run_id in (select id from late)),
    requests as (delete from model_requests where run_id in (select id from late))
    delete from steps where run_id in (select id from late)`.execute(db)
}

export const deletedRunSchedules = ({ postgres: { db } }: Engine): Schedule[] => [
  every('deleted_runs.sweep', 60, () => removeLateWrites(db)),
]
