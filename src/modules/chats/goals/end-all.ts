import { sql } from 'kysely'
import { writeOutboxAll } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Span } from '#core/time.ts'
import { goalStore } from './goal-store.ts'
import { goalEvent } from './show.ts'

/** Returns unfinished runs that the account started in this period. End each with `stopRun`. */
export async function unfinishedRunsOf(
  db: Db,
  accountId: Id,
  { from, until }: Span,
): Promise<{ id: Id; chat_id: Id }[]> {
  const { rows } = await sql<{ id: Id; chat_id: Id }>`
    select id, chat_id from runs where status in ('running', 'requires_action')
      and account_id = ${accountId} and created_at between ${from} and ${until}
    union all
    select id, chat_id from runs where status = 'queued' and account_id = ${accountId} and created_at between ${from} and ${until}`.execute(
    db,
  )
  return rows
}

/** Ends goals that the account set in this period. Returns how many. */
export async function endGoalsOf(db: Db, accountId: Id, { from, until }: Span): Promise<number> {
  const active = await db
    .selectFrom('goals')
    .select('id')
    .where('account_id', '=', accountId)
    .where('status', '=', 'active')
    .where('created_at', '>=', from)
    .where('created_at', '<=', until)
    .orderBy('id')
    .execute()
  const endedGoals = []
  for (const { id } of active) endedGoals.push(await goalStore.finish(db, id, 'ended'))
  const events = endedGoals.flatMap((goal) => (goal === undefined ? [] : [goalEvent(goal, 'ended')]))
  await writeOutboxAll(db, events, null)
  return events.length
}
