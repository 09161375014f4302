import { type ColumnType, type Generated, type Selectable, sql } from 'kysely'
import type { Postgres } from '#engine/postgres/client.ts'
import { type Db, nextTime, nextTimeOf } from '#engine/postgres/client.ts'
import type { ErrorBody } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import type { Usage } from '#kernel/usage.ts'
import type { Fact } from './answer.ts'

declare module '#engine/postgres/tables.ts' {
  interface Database {
    runs: RunTable
    run_events: RunEventTable
    steps: StepTable
  }
}

export type RunStatus = 'queued' | 'running' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
export const isFinished = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'
export type OnBusy = 'enqueue' | 'reject' | 'interrupt'
type Json<T> = ColumnType<T, string | null | undefined, string | null>

interface RunTable {
  id: Id
  chat_id: Id
  workspace_id: Id
  account_id: Id
  key_id: Id | null
  scopes: string[] | null
  held_to: Id | null
  agent_id: Id | null
  /** The run whose agent began it. */
  parent_run_id: Generated<Id | null>
  /** The call there that handed it a task: `<attempt>:<part>`. Null where a tool merely sent a message. */
  parent_call: Generated<string | null>
  /** How many runs stand above it. */
  depth: Generated<number>
  /** What those below it have cost: a part of `cost_nano`. */
  children_nano: Generated<Nano>
  goal_id: Generated<Id | null>
  automation_run_id: Generated<Id | null>
  /** What it may spend; null: what its payer may. */
  budget_nano: Generated<Nano | null>
  status: RunStatus
  status_reason: string | null
  on_busy: OnBusy
  place: Generated<bigint>
  model: string
  /** `approved`: the parts of its answer whose call a person has allowed. */
  options: ColumnType<unknown, string | undefined, string>
  input_message_id: Id
  output_message_id: Id
  pending_actions: ColumnType<PendingAction[], string | undefined, string>
  /** When the first of them is denied by itself. */
  actions_expire_at: Generated<Date | null>
  error: Json<ErrorBody['error'] | null>
  usage: Json<Usage | null>
  cost_nano: Generated<Nano | null>
  attempt: Generated<number>
  process_id: Id | null
  fence: Generated<number>
  /** How often it was taken over from a process that was no more. */
  adoptions: Generated<number>
  cancel_requested_at: Generated<Date | null>
  queued_at: Date
  started_at: Date | null
  completed_at: Generated<Date | null>
  created_at: Date
  updated_at: Date
}
export type RunRow = Selectable<RunTable>

export interface PendingAction {
  id: string
  kind: string
  tool: string
  arguments: unknown
  expires_at: string | null
}

interface RunEventTable {
  run_id: Id
  seq: number
  type: string
  at: Date
  data: ColumnType<Record<string, unknown>, string, never>
}

/** An event of a run's log. */
export interface Logged extends Fact {
  seq: number
  at: Date
}

interface StepTable {
  run_id: Id
  index: number
  attempt: Generated<number>
  kind: 'model' | 'tool' | 'compaction' | 'evaluation'
  name: string | null
  status: 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
  idempotent: boolean
  input: Json<unknown>
  result: Json<unknown>
  error: Json<unknown>
  cost_nano: Nano | null
  started_at: Date
  completed_at: Date | null
}
export type StepRow = Selectable<StepTable>
export type Step = Pick<
  Selectable<StepTable>,
  'kind' | 'name' | 'status' | 'idempotent' | 'cost_nano' | 'started_at'
> & {
  result: object | null
  error: object | null
}

const firstExpiry = (pending: readonly PendingAction[]): Date | null => {
  const times = pending.flatMap(({ expires_at }) => (expires_at === null ? [] : [Date.parse(expires_at)]))
  return times.length === 0 ? null : new Date(Math.min(...times))
}

/** A run as it is made. */
export type FreshRun = Pick<
  RunRow,
  | 'id'
  | 'chat_id'
  | 'workspace_id'
  | 'account_id'
  | 'key_id'
  | 'scopes'
  | 'held_to'
  | 'agent_id'
  | 'automation_run_id'
  | 'budget_nano'
  | 'status'
  | 'status_reason'
  | 'on_busy'
  | 'model'
  | 'input_message_id'
  | 'output_message_id'
  | 'process_id'
  | 'fence'
  | 'queued_at'
  | 'started_at'
  | 'created_at'
  | 'updated_at'
>

/** JSON has no whole numbers beyond 2⁵³. */
const decimal = (nano: Nano | null): string | null => (nano === null ? null : String(nano))

const UNFINISHED: RunStatus[] = ['queued', 'running', 'requires_action']

export const runStore = {
  get: (db: Db, chatId: Id, id: Id): Promise<RunRow | undefined> =>
    db.selectFrom('runs').selectAll().where('id', '=', id).where('chat_id', '=', chatId).executeTakeFirst(),

  /** Until the transaction ends. */
  hold: (db: Db, chatId: Id, id: Id): Promise<RunRow | undefined> =>
    db.selectFrom('runs').selectAll().where('id', '=', id).where('chat_id', '=', chatId).forUpdate().executeTakeFirst(),

  async addCost(db: Db, id: Id, cost: Nano): Promise<void> {
    await db
      .updateTable('runs')
      .set({ cost_nano: sql<Nano>`coalesce(cost_nano, 0) + ${cost}`, updated_at: nextTime })
      .where('id', '=', id)
      .execute()
  },

  byIds: (db: Db, ids: readonly Id[]): Promise<RunRow[]> =>
    ids.length === 0 ? Promise.resolve([]) : db.selectFrom('runs').selectAll().where('id', 'in', ids).execute(),

  list: (
    db: Db,
    chatId: Id,
    { status, before, limit }: { status: RunStatus | undefined; before: Id | null; limit: number },
  ): Promise<RunRow[]> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('chat_id', '=', chatId)
      .$if(status !== undefined, (query) => query.where('status', '=', status!))
      .$if(before !== null, (query) => query.where('id', '<', before!))
      .orderBy('id', 'desc')
      .limit(limit)
      .execute(),

  /** Those of a chat that are not finished, the one that goes first first. */
  unfinished: (db: Db, chatId: Id): Promise<RunRow[]> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('chat_id', '=', chatId)
      .where('status', 'in', UNFINISHED)
      .orderBy(sql`status = 'queued'`)
      .orderBy('place')
      .execute(),

  newest: (db: Db, chatId: Id): Promise<RunRow | undefined> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('chat_id', '=', chatId)
      .orderBy('updated_at', 'desc')
      .limit(1)
      .executeTakeFirst(),

  insert: (db: Db, run: Omit<FreshRun, 'automation_run_id' | 'budget_nano'>): Promise<RunRow> =>
    db.insertInto('runs').values(run).returningAll().executeTakeFirstOrThrow(),

  /** Many at once, in no order. */
  async insertMany(db: Db, runs: readonly FreshRun[]): Promise<RunRow[]> {
    const json = JSON.stringify(runs.map((run) => ({ ...run, budget_nano: decimal(run.budget_nano) })))
    const { rows } =
      await sql<RunRow>`insert into runs (id, chat_id, workspace_id, account_id, key_id, scopes, held_to, agent_id,
        automation_run_id, budget_nano, status, status_reason, on_busy, model, input_message_id, output_message_id, process_id,
        fence, queued_at, started_at, created_at, updated_at)
      select id, chat_id, workspace_id, account_id, key_id, scopes, held_to, agent_id, automation_run_id, budget_nano, status,
        status_reason, on_busy, model, input_message_id, output_message_id, process_id, fence, queued_at, started_at, created_at,
        updated_at
      from jsonb_to_recordset(${json}::jsonb) as x(id text, chat_id text, workspace_id text, account_id text, key_id text,
        scopes text[], held_to text, agent_id text, automation_run_id text, budget_nano bigint, status text, status_reason text,
        on_busy text, model text, input_message_id text, output_message_id text, process_id text, fence int,
        queued_at timestamptz, started_at timestamptz, created_at timestamptz, updated_at timestamptz)
      returning *`.execute(db)
    return rows
  },

  /** Queued → running under this process. Null when it is no longer queued. */
  start: (db: Db, id: Id, processId: Id): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        status: 'running',
        status_reason: null,
        process_id: processId,
        fence: sql<number>`fence + 1`,
        started_at: sql<Date>`coalesce(started_at, clock_timestamp())`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'queued')
      .returningAll()
      .executeTakeFirst(),

  /** Of each of these chats the next in its line, where nothing runs there. */
  nextOf: async (db: Db, chatIds: readonly Id[]): Promise<Id[]> => {
    const { rows } = await sql<{ id: Id }>`select distinct on (chat_id) chat_id, id from runs q
      where chat_id = any(${chatIds}::ulid[]) and status = 'queued'
        and not exists (select from runs a where a.chat_id = q.chat_id and a.status in ('running', 'requires_action'))
      order by chat_id, place`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** The next in the chat's line, if nothing runs there. */
  next: async (db: Db, chatId: Id): Promise<Id | null> => {
    const { rows } = await sql<{ id: Id }>`select id from runs q where chat_id = ${chatId} and status = 'queued'
        and not exists (select from runs a where a.chat_id = q.chat_id and a.status in ('running', 'requires_action'))
      order by place limit 1`.execute(db)
    return rows[0]?.id ?? null
  },

  /** Running → running under another claim. Null when its holder changed or it ended meanwhile. */
  takeOver: (db: Db, { id, fence }: RunRow, processId: Id): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        process_id: processId,
        fence: sql<number>`fence + 1`,
        adoptions: sql<number>`adoptions + 1`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'running')
      .returningAll()
      .executeTakeFirst(),

  /** Running → queued, for whoever comes next. */
  release: (db: Db, { id, fence }: RunRow): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        status: 'queued',
        status_reason: 'restarted',
        process_id: null,
        fence: sql<number>`fence + 1`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'running')
      .returningAll()
      .executeTakeFirst(),

  /** To an end, many at once. Those whose holder changed, or that ended meanwhile, are absent. */
  async finish(
    db: Db,
    ends: readonly {
      run: Pick<RunRow, 'id' | 'fence'>
      status: 'completed' | 'failed' | 'cancelled'
      error: ErrorBody['error'] | null
      usage: Usage | null
      /** Of this attempt; what the run has cost before stays in the sum. */
      cost: Nano | null
    }[],
  ): Promise<Map<Id, RunRow>> {
    const given = ends.map(({ run: { id, fence }, cost, ...end }) => ({ ...end, id, fence, cost: decimal(cost) }))
    const { rows } =
      await sql<RunRow>`update runs r set status = e.status, status_reason = null, error = e.error, usage = e.usage,
        cost_nano = case when e.cost is null then r.cost_nano else coalesce(r.cost_nano, 0) + e.cost end, pending_actions = '[]',
        process_id = null, completed_at = date_trunc('milliseconds', clock_timestamp()),
        updated_at = ${nextTimeOf('r')}
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as e(id text, fence int, status text, error jsonb, usage jsonb, cost bigint)
      where r.id = e.id and r.fence = e.fence and r.status in ('queued', 'running', 'requires_action') returning r.*`.execute(
        db,
      )
    return new Map(rows.map((row) => [row.id, row]))
  },

  /** Running → waiting for a person. Undefined when its holder changed or it ended meanwhile. */
  pause: (
    db: Db,
    { id, fence }: Pick<RunRow, 'id' | 'fence'>,
    pending: readonly PendingAction[],
  ): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        status: 'requires_action',
        status_reason: pending[0]?.kind ?? null,
        pending_actions: JSON.stringify(pending),
        actions_expire_at: firstExpiry(pending),
        process_id: null,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'running')
      .returningAll()
      .executeTakeFirst(),

  /** What a person has decided; when nothing is left, it takes its turn again, before all that wait. */
  decide: (
    db: Db,
    id: Id,
    { pending, approved }: { pending: readonly PendingAction[]; approved: readonly number[] },
  ): Promise<RunRow> =>
    db
      .updateTable('runs')
      .set({
        pending_actions: JSON.stringify(pending),
        actions_expire_at: firstExpiry(pending),
        options: JSON.stringify({ approved }),
        ...(pending.length === 0 && { status: 'queued', status_reason: 'restarted' }),
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow(),

  /** A model's turn within it has ended. Undefined when its holder changed or it ended meanwhile. */
  keep: (
    db: Db,
    { id, fence }: Pick<RunRow, 'id' | 'fence'>,
    { usage, cost }: { usage: Usage | null; cost: Nano | null },
  ): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        usage: usage && JSON.stringify(usage),
        ...(cost !== null && { cost_nano: sql<Nano>`coalesce(cost_nano, 0) + ${cost}` }),
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'running')
      .returningAll()
      .executeTakeFirst(),

  /** Failed → queued, for a new attempt with an answer of its own. */
  requeue: (
    db: Db,
    id: Id,
    output: Id,
    reason: string | null,
    who: Pick<RunRow, 'account_id' | 'key_id' | 'scopes' | 'held_to'>,
  ): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        ...who,
        status: 'queued',
        options: '{}',
        status_reason: reason,
        attempt: sql<number>`attempt + 1`,
        output_message_id: output,
        error: null,
        cancel_requested_at: null,
        completed_at: null,
        started_at: null,
        queued_at: sql<Date>`date_trunc('milliseconds', clock_timestamp())`,
        place: sql<bigint>`nextval('run_places')`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', '=', 'failed')
      .returningAll()
      .executeTakeFirst(),

  requestCancel: (db: Db, id: Id): Promise<RunRow | undefined> =>
    db
      .updateTable('runs')
      .set({
        cancel_requested_at: sql<Date>`coalesce(cancel_requested_at, date_trunc('milliseconds', clock_timestamp()))`,
        updated_at: nextTime,
      })
      .where('id', '=', id)
      .where('status', 'in', UNFINISHED)
      .returningAll()
      .executeTakeFirst(),

  /** Those under this process that somebody asked to stop. */
  toCancel: async (db: Db, processId: Id): Promise<Id[]> =>
    (
      await db
        .selectFrom('runs')
        .select('id')
        .where('process_id', '=', processId)
        .where('status', '=', 'running')
        .where('cancel_requested_at', 'is not', null)
        .execute()
    ).map(({ id }) => id),

  /** Of these, those that were deleted or run under another process. */
  async lost(db: Db, processId: Id, ids: readonly Id[]): Promise<Id[]> {
    if (ids.length === 0) return []
    const { rows } = await sql<{ id: Id }>`select x.id from unnest(${ids}::ulid[]) x(id) left join runs r on r.id = x.id
      where r.id is null or (r.status = 'running' and r.process_id <> ${processId})`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** Running under a process that is no more; or for a while under this one, where the caller knows better. */
  orphans: (db: Db, processId: Id): Promise<RunRow[]> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('status', '=', 'running')
      .where(sql<boolean>`(process_id = ${processId} and updated_at < now() - interval '5 seconds'
        or not exists (select from processes p where p.id = process_id and p.expires_at > now()))`)
      .limit(200)
      .execute(),

  /** Those that wait with a call that nobody has decided in time. */
  expired: (db: Db): Promise<RunRow[]> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('status', '=', 'requires_action')
      .where('actions_expire_at', '<=', sql<Date>`clock_timestamp()`)
      .limit(200)
      .execute(),

  /** The run of a task that a call of another run handed on. */
  delegated: (db: Db, parentId: Id, call: string): Promise<RunRow | undefined> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('parent_run_id', '=', parentId)
      .where('parent_call', '=', call)
      .executeTakeFirst(),

  /** How many tasks an attempt of a run has handed on. */
  async tasks(db: Db, { id, attempt }: Pick<RunRow, 'id' | 'attempt'>): Promise<number> {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from runs
      where parent_run_id = ${id} and parent_call like ${`${attempt}:%`}`.execute(db)
    return rows[0]!.count
  },

  /** Whether the claim holds, and goes on to hold until the transaction ends. */
  isHeld: async (db: Db, { id, fence }: Pick<RunRow, 'id' | 'fence'>): Promise<boolean> =>
    (await db
      .selectFrom('runs')
      .select('id')
      .where('id', '=', id)
      .where('fence', '=', fence)
      .where('status', '=', 'running')
      .forShare()
      .executeTakeFirst()) !== undefined,

  /** Runs of tasks that nobody waits for any more: what stands above them has ended, was asked to, is gone, or begins anew. */
  async forsaken(db: Db): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`select c.* from runs c left join runs p on p.id = c.parent_run_id
      where c.parent_call is not null and c.status in ('queued', 'running', 'requires_action')
        -- What a person tries again is the person's.
        and c.cancel_requested_at is null and c.attempt = 1
        and (p.id is null or p.status in ('completed', 'failed', 'cancelled') or p.cancel_requested_at is not null
          or split_part(c.parent_call, ':', 1) <> p.attempt::text)
      limit 200`.execute(db)
    return rows
  },

  /** Those that rest until a task that they handed on has ended, where it has. */
  async reunited(db: Db): Promise<RunRow[]> {
    const { rows } = await sql<RunRow>`select p.* from runs p where p.status = 'requires_action' and exists (
        select from jsonb_array_elements(p.pending_actions) a left join runs c on c.id = a -> 'arguments' ->> 'run_id'
        where a ->> 'kind' = 'subagent' and (c.id is null or c.status in ('completed', 'failed', 'cancelled')))
      limit 200`.execute(db)
    return rows
  },

  /** Chats where somebody waits and nobody runs. */
  stalled: async (db: Db): Promise<Id[]> => {
    const { rows } = await sql<{ chat_id: Id }>`select distinct chat_id from runs q where status = 'queued'
        and not exists (select from runs a where a.chat_id = q.chat_id and a.status in ('running', 'requires_action'))
      limit 200`.execute(db)
    return rows.map((row) => row.chat_id)
  },

  /** Of these, those that have an event beyond the given one, have come to an end, or are gone. */
  async moved({ pool }: Postgres, watched: readonly { id: Id; seq: number }[]): Promise<{ id: Id; seq: number }[]> {
    const { rows } = await pool.query<{ id: Id; seq: number }>({
      name: 'runs_moved',
      text: `select x.id, x.seq from unnest($1::ulid[], $2::int[]) x(id, seq)
        where exists (select from run_events e where e.run_id = x.id and e.seq > x.seq)
          or not exists (select from runs r where r.id = x.id and (r.status in ('queued', 'running')
            -- Who waits for no event waits for the end, or for a person to be needed.
            or (r.status = 'requires_action' and x.seq < 2147483647)))`,
      values: [watched.map(({ id }) => id), watched.map(({ seq }) => seq)],
    })
    return rows
  },
}

export const eventStore = {
  /** Within the transaction of the change that they tell of. */
  async insert(db: Db, runId: Id, events: readonly Logged[]): Promise<void> {
    if (events.length === 0) return
    await db
      .insertInto('run_events')
      .values(events.map(({ seq, type, at, data }) => ({ run_id: runId, seq, type, at, data: JSON.stringify(data) })))
      .execute()
  },

  /** Of many runs at once. `json`, so that each comes back byte for byte. */
  async insertMany(db: Db, of: readonly { run: Pick<RunRow, 'id'>; events: readonly Logged[] }[]): Promise<void> {
    const rows = of.flatMap(({ run, events }) => events.map((event) => ({ run_id: run.id, ...event })))
    if (rows.length === 0) return
    await sql`insert into run_events (run_id, seq, type, at, data) select run_id, seq, type, at, data
      from json_to_recordset(${JSON.stringify(rows)}::json) as x(run_id text, seq int, type text, at timestamptz, data json)`.execute(
      db,
    )
  },

  async after({ pool }: Postgres, runId: Id, seq: number, limit: number): Promise<Logged[]> {
    const { rows } = await pool.query<Logged>({
      name: 'run_events_after',
      text: 'select seq, type, at, data from run_events where run_id = $1 and seq > $2 order by seq limit $3',
      values: [runId, seq, limit],
    })
    return rows
  },

  all: async (db: Db, runId: Id): Promise<Logged[]> =>
    db
      .selectFrom('run_events')
      .select(['seq', 'type', 'at', 'data'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute(),

  /** The last event's number and type, for going on from there. */
  async last(db: Db, runId: Id): Promise<{ seq: number; type: string | null }> {
    const row = await db
      .selectFrom('run_events')
      .select(['seq', 'type'])
      .where('run_id', '=', runId)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row ?? { seq: 0, type: null }
  },
}

export const stepStore = {
  hasCall: async (db: Db, runId: Id, callId: Id): Promise<boolean> =>
    (await db
      .selectFrom('steps')
      .select('index')
      .where('run_id', '=', runId)
      .where(sql<string>`result ->> 'call_id'`, '=', callId)
      .executeTakeFirst()) !== undefined,

  /** What an attempt has done, in its order. */
  of: (db: Db, run: Pick<RunRow, 'id' | 'attempt'>): Promise<StepRow[]> =>
    db
      .selectFrom('steps')
      .selectAll()
      .where('run_id', '=', run.id)
      .where('attempt', '=', run.attempt)
      .orderBy('index')
      .execute(),

  /** A step that begins; null when the claim no longer holds. */
  async begin(
    db: Db,
    run: Pick<RunRow, 'id' | 'attempt' | 'fence'>,
    step: Pick<Step, 'kind' | 'name' | 'idempotent'> & { input: object },
  ): Promise<number | null> {
    const { rows } = await sql<{
      index: number
    }>`insert into steps (run_id, index, attempt, kind, name, status, idempotent, input)
      select r.id, (select coalesce(max(s.index), 0) + 1 from steps s where s.run_id = r.id), ${run.attempt}, ${step.kind},
        ${step.name}, 'running', ${step.idempotent}, ${JSON.stringify(step.input)}::jsonb
      from runs r where r.id = ${run.id} and r.fence = ${run.fence} and r.status = 'running' returning index`.execute(
      db,
    )
    return rows[0]?.index ?? null
  },

  async end(db: Db, runId: Id, index: number, status: 'completed' | 'cancelled', result: object | null): Promise<void> {
    await db
      .updateTable('steps')
      .set({ status, result: result && JSON.stringify(result), completed_at: sql<Date>`clock_timestamp()` })
      .where('run_id', '=', runId)
      .where('index', '=', index)
      .execute()
  },

  /** A call of a tool that may have been done, and that a person has decided about. */
  async interrupt(db: Db, run: Pick<RunRow, 'id' | 'attempt'>, part: number): Promise<void> {
    await db
      .updateTable('steps')
      .set({ status: 'interrupted', completed_at: sql<Date>`clock_timestamp()` })
      .where('run_id', '=', run.id)
      .where('attempt', '=', run.attempt)
      .where('status', '=', 'running')
      .where(sql<boolean>`(input ->> 'part')::int = ${part}`)
      .execute()
  },

  /** A step that has ended. */
  insert: (db: Db, run: Pick<RunRow, 'id' | 'attempt'>, step: Step): Promise<void> =>
    stepStore.insertMany(db, [{ run, step }]),

  /** The same of many runs, one of each. */
  async insertMany(db: Db, ended: readonly { run: Pick<RunRow, 'id' | 'attempt'>; step: Step }[]): Promise<void> {
    if (ended.length === 0) return
    const given = ended.map(({ run, step: { cost_nano, ...step } }) => ({
      ...step,
      run_id: run.id,
      attempt: run.attempt,
      cost_nano: decimal(cost_nano),
    }))
    // Those before it are read once for all: a sub-select of each row would be a look through the table for each.
    const ids = ended.map(({ run }) => run.id)
    await sql`with before as (
        select run_id, max(index) as index from steps where run_id = any(${ids}::ulid[]) group by run_id)
      insert into steps (run_id, index, attempt, kind, name, status, idempotent, result, error, cost_nano, started_at, completed_at)
      select x.run_id, coalesce(b.index, 0) + 1, attempt, kind, name, status, idempotent, result, error, cost_nano, started_at,
        clock_timestamp()
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as x(run_id text, attempt int, kind text, name text, status text,
        idempotent boolean, result jsonb, error jsonb, cost_nano bigint, started_at timestamptz)
      left join before b on b.run_id = x.run_id`.execute(db)
  },
}
