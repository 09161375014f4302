import { type ColumnType, type Generated, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Behalf } from '#core/principal.ts'
import type { Nano } from '#core/money.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    goals: GoalTable
  }
}

export type GoalStatus = 'active' | 'achieved' | 'exhausted' | 'stalled' | 'ended' | 'failed'

interface GoalTable extends Behalf {
  id: Id
  chat_id: Id
  workspace_id: Id
  objective: string
  criteria: string | null
  model: string | null
  judge_model: string | null
  max_turns: number
  max_cost_nano: Nano | null
  max_duration_seconds: number | null
  status: GoalStatus
  exhausted_by: 'turns' | 'cost' | 'time' | null
  turns_used: Generated<number>
  judge_nano: Generated<Nano>
  last_feedback: string | null
  without_progress: Generated<number>
  last_answer: string | null
  error: ColumnType<ErrorBody['error'] | null, string | null | undefined, string | null>
  first_message_id: Id | null
  run_id: Id | null
  seconds_used: Generated<number>
  active_since: Date
  completed_at: Date | null
  process_id: Id | null
  claimed_until: Date | null
  fence: Generated<number>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}
export type GoalRow = Selectable<GoalTable>

type Given = Pick<
  GoalRow,
  | keyof Behalf
  | 'id'
  | 'chat_id'
  | 'workspace_id'
  | 'objective'
  | 'criteria'
  | 'model'
  | 'judge_model'
  | 'max_turns'
  | 'max_cost_nano'
  | 'max_duration_seconds'
  | 'active_since'
>

/** Longest time for a turn's evaluation before another process can claim the goal. */
export const CLAIM_SECONDS = 300

export const goalStore = {
  insert: (db: Db, goal: Given): Promise<GoalRow> =>
    db
      .insertInto('goals')
      .values({ ...goal, status: 'active' })
      .returningAll()
      .executeTakeFirstOrThrow(),

  get: (db: Db, id: Id): Promise<GoalRow | undefined> =>
    db.selectFrom('goals').selectAll().where('id', '=', id).executeTakeFirst(),

  active: (db: Db, chatId: Id): Promise<GoalRow | undefined> =>
    db.selectFrom('goals').selectAll().where('chat_id', '=', chatId).where('status', '=', 'active').executeTakeFirst(),

  /** Returns the newest goal whose first message is on the active branch, or that has no message yet. */
  async governing(db: Db, chatId: Id): Promise<GoalRow | null> {
    const { rows } = await sql<GoalRow>`with recursive lines(line_id, upto) as (
        select m.line_id, m.depth from chats c join messages m on m.id = c.head_message_id where c.id = ${chatId}
        union all
        select p.line_id, p.depth from lines l join messages f on f.id = l.line_id join messages p on p.id = f.parent_id
      )
      select g.* from goals g left join messages m on m.id = g.first_message_id
      where g.chat_id = ${chatId} and (g.first_message_id is null
        or exists (select from lines l where l.line_id = m.line_id and m.depth <= l.upto))
      order by g.id desc limit 1`.execute(db)
    return rows[0] ?? null
  },

  async spent(db: Db, { id, judge_nano }: Pick<GoalRow, 'id' | 'judge_nano'>): Promise<Nano> {
    const { rows } = await sql<{ nano: Nano }>`select coalesce(sum(cost_nano), 0)::int8 as nano from runs
      where goal_id = ${id}`.execute(db)
    return rows[0]!.nano + judge_nano
  },

  /** Undefined if the goal ended or another process holds it. */
  claim: (db: Db, id: Id, processId: Id): Promise<GoalRow | undefined> =>
    db
      .updateTable('goals')
      .set({
        process_id: processId,
        fence: sql<number>`fence + 1`,
        claimed_until: sql<Date>`now() + make_interval(secs => ${CLAIM_SECONDS})`,
      })
      .where('id', '=', id)
      .where('status', '=', 'active')
      .where(sql<boolean>`(process_id is null or claimed_until < now()
        or not exists (select from processes p where p.id = process_id and p.expires_at > now()))`)
      .returningAll()
      .executeTakeFirst(),

  async release(db: Db, { id, fence }: Pick<GoalRow, 'id' | 'fence'>): Promise<void> {
    await db
      .updateTable('goals')
      .set({ process_id: null, claimed_until: null })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .execute()
  },

  /** Updates the goal under its claim. Undefined if the claim no longer holds or the goal ended. */
  step: (
    db: Db,
    { id, fence }: Pick<GoalRow, 'id' | 'fence'>,
    to: Updateable<GoalTable>,
  ): Promise<GoalRow | undefined> =>
    db
      .updateTable('goals')
      .set({ ...to, updated_at: nextTime })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'active')
      .returningAll()
      .executeTakeFirst(),

  finish: (
    db: Db,
    id: Id,
    status: Exclude<GoalStatus, 'active'>,
    why: Pick<Updateable<GoalTable>, 'exhausted_by' | 'error'> = {},
  ): Promise<GoalRow | undefined> =>
    db
      .updateTable('goals')
      .set({
        ...why,
        status,
        process_id: null,
        claimed_until: null,
        fence: sql<number>`fence + 1`,
        seconds_used: sql<number>`seconds_used + greatest(0, extract(epoch from clock_timestamp() - active_since))`,
        completed_at: sql<Date>`date_trunc('milliseconds', clock_timestamp())`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'active')
      .returningAll()
      .executeTakeFirst(),

  resume: (
    db: Db,
    id: Id,
    to: Pick<
      GoalRow,
      'max_turns' | 'max_cost_nano' | 'max_duration_seconds' | 'account_id' | 'key_id' | 'scopes' | 'held_to'
    >,
  ): Promise<GoalRow | undefined> =>
    db
      .updateTable('goals')
      .set({
        ...to,
        status: 'active',
        exhausted_by: null,
        without_progress: 0,
        error: null,
        // A completed turn still needs its evaluation. Drops one that failed or was stopped by the cap.
        run_id: sql<Id>`(select r.id from runs r where r.id = goals.run_id and r.status = 'completed')`,
        active_since: sql<Date>`clock_timestamp()`,
        completed_at: null,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', 'in', ['exhausted', 'stalled'])
      .returningAll()
      .executeTakeFirst(),

  waiting: async (db: Db): Promise<Id[]> => {
    const { rows } = await sql<{ id: Id }>`select g.id from goals g left join runs r on r.id = g.run_id
      where g.status = 'active' and g.updated_at < now() - interval '2 seconds'
        and (g.process_id is null or g.claimed_until < now()
          or not exists (select from processes p where p.id = g.process_id and p.expires_at > now()))
        and (r.id is null or r.status in ('completed', 'failed', 'cancelled')
          or g.active_since + make_interval(secs => g.max_duration_seconds - g.seconds_used) < now())
      limit 200`.execute(db)
    return rows.map(({ id }) => id)
  },
}
