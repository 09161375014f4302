import { type ColumnType, type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Behalf } from '#core/principal.ts'
import type { Nano } from '#core/money.ts'
import type { Usage } from '#core/usage.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    runs: RunTable
  }
}

export type RunStatus = 'queued' | 'running' | 'requires_action' | 'completed' | 'failed' | 'cancelled'
export const isFinished = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'
export const allowedMoves = ({ status }: RunRow): string[] =>
  status === 'failed' ? ['retry'] : status === 'completed' || status === 'cancelled' ? [] : ['stop']
export type OnBusy = 'enqueue' | 'reject' | 'interrupt'
type Json<T> = ColumnType<T, string | null | undefined, string | null>

interface RunTable extends Behalf {
  id: Id
  chat_id: Id
  workspace_id: Id
  agent_id: Id | null
  parent_run_id: Generated<Id | null>
  /** The tool call of the parent that delegated this run: `<attempt>:<part>`. Null if a tool only sent a message. */
  parent_call: Generated<string | null>
  depth: Generated<number>
  children_nano: Generated<Nano>
  goal_id: Generated<Id | null>
  automation_run_id: Generated<Id | null>
  /** The automation that started this run or one of its ancestors. */
  automation_id: Generated<Id | null>
  /** Spend cap; null: only the payer's caps apply. */
  budget_nano: Generated<Nano | null>
  status: RunStatus
  status_reason: string | null
  on_busy: OnBusy
  place: Generated<bigint>
  model: string
  /** The model named in the message; null: the chat's model. */
  named_model: Generated<string | null>
  /** `approved` holds the allowed calls; read it with `approvedCalls`. */
  options: ColumnType<unknown, string | undefined, string>
  input_message_id: Id
  output_message_id: Id
  pending_actions: ColumnType<PendingAction[], string | undefined, string>
  actions_expire_at: Generated<Date | null>
  error: Json<ErrorBody['error'] | null>
  /** The error with details for its account only; null: no details. */
  payer_error: ColumnType<ErrorBody['error'] | null, never, null>
  usage: Json<Usage | null>
  cost_nano: Generated<Nano | null>
  attempt: Generated<number>
  process_id: Id | null
  fence: Generated<number>
  /** How many times the run was taken over from a dead process. */
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
  /** Version of the calling agent. This and the next two are absent in older rows. */
  agent_version?: number | null
  /** Hash of the description from an external MCP server; null for built-in tools. */
  definition?: string | null
  can_remember?: boolean
  expires_at: string | null
}

/** An allowed call: the part's index in the answer and the tool's definition at that time. */
export interface ApprovedCall {
  part: number
  definition: string | null
}

/** Reads the allowed calls from `options`. Older rows have a bare part index. */
export const approvedCalls = ({ options }: { options: unknown }): ApprovedCall[] =>
  ((options as { approved?: (number | ApprovedCall)[] } | null)?.approved ?? []).map((approval) =>
    typeof approval === 'number' ? { part: approval, definition: null } : approval,
  )

export const firstExpiry = (pending: readonly PendingAction[]): Date | null => {
  const times = pending.flatMap(({ expires_at }) => (expires_at === null ? [] : [Date.parse(expires_at)]))
  return times.length === 0 ? null : new Date(Math.min(...times))
}

export type NewRun = Pick<
  RunRow,
  | keyof Behalf
  | 'id'
  | 'chat_id'
  | 'workspace_id'
  | 'agent_id'
  | 'automation_run_id'
  | 'automation_id'
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

/** Returns the inserted row without reading it back. For runs without a parent or a goal. */
export const toRunRow = (run: NewRun & Pick<RunRow, 'named_model' | 'place'>): RunRow => ({
  ...run,
  parent_run_id: null,
  parent_call: null,
  depth: 0,
  children_nano: 0n,
  goal_id: null,
  options: {},
  pending_actions: [],
  actions_expire_at: null,
  error: null,
  payer_error: null,
  usage: null,
  cost_nano: null,
  attempt: 1,
  adoptions: 0,
  cancel_requested_at: null,
  completed_at: null,
})

/** JSON numbers are exact only up to 2⁵³. */
export const decimal = (nano: Nano | null): string | null => (nano === null ? null : String(nano))

const UNFINISHED: RunStatus[] = ['queued', 'running', 'requires_action']

export const runStore = {
  get: (db: Db, chatId: Id, id: Id): Promise<RunRow | undefined> =>
    db.selectFrom('runs').selectAll().where('id', '=', id).where('chat_id', '=', chatId).executeTakeFirst(),

  lock: (db: Db, chatId: Id, id: Id): Promise<RunRow | undefined> =>
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
      .$call(newestFirst('id', before, limit))
      .execute(),

  /** Returns the chat's unfinished runs in execution order. */
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

  insert: (
    db: Db,
    run: Omit<NewRun, 'automation_run_id' | 'budget_nano'> & Pick<RunRow, 'named_model'>,
  ): Promise<RunRow> => db.insertInto('runs').values(run).returningAll().executeTakeFirstOrThrow(),

  async insertMany(db: Db, runs: readonly NewRun[]): Promise<RunRow[]> {
    const json = JSON.stringify(runs.map((run) => ({ ...run, budget_nano: decimal(run.budget_nano) })))
    const { rows } =
      await sql<RunRow>`insert into runs (id, chat_id, workspace_id, account_id, key_id, scopes, held_to, agent_id,
        automation_run_id, automation_id, budget_nano, status, status_reason, on_busy, model, input_message_id, output_message_id, process_id,
        fence, queued_at, started_at, created_at, updated_at)
      select id, chat_id, workspace_id, account_id, key_id, scopes, held_to, agent_id, automation_run_id, automation_id, budget_nano, status,
        status_reason, on_busy, model, input_message_id, output_message_id, process_id, fence, queued_at, started_at, created_at,
        updated_at
      from jsonb_to_recordset(${json}::jsonb) as x(id ulid, chat_id ulid, workspace_id ulid, account_id ulid, key_id ulid,
        scopes text[], held_to ulid, agent_id ulid, automation_run_id ulid, automation_id ulid, budget_nano bigint, status text, status_reason text,
        on_busy text, model text, input_message_id ulid, output_message_id ulid, process_id ulid, fence int,
        queued_at timestamptz, started_at timestamptz, created_at timestamptz, updated_at timestamptz)
      returning *`.execute(db)
    return rows
  },

  /** Saves decisions. With nothing left pending, the run goes back to the head of the queue. */
  decide: (
    db: Db,
    id: Id,
    { pending, approved }: { pending: readonly PendingAction[]; approved: readonly ApprovedCall[] },
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

  /** Failed → queued, as a new attempt with a new output message. */
  requeue: (
    db: Db,
    id: Id,
    output: Id,
    reason: string | null,
    who: Pick<RunRow, 'account_id' | 'key_id' | 'scopes' | 'held_to' | 'model'>,
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
        payer_error: null,
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

  delegated: (db: Db, parentId: Id, call: string): Promise<RunRow | undefined> =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('parent_run_id', '=', parentId)
      .where('parent_call', '=', call)
      .executeTakeFirst(),

  async tasks(db: Db, { id, attempt }: Pick<RunRow, 'id' | 'attempt'>): Promise<number> {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from runs
      where parent_run_id = ${id} and parent_call like ${`${attempt}:%`}`.execute(db)
    return rows[0]!.count
  },
}
