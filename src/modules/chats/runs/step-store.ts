import { type ColumnType, type Generated, type Selectable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { SealedRequest } from './model-requests.ts'
import { type RunRow, decimal } from './run-store.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    steps: StepTable
  }
}

type Json<T> = ColumnType<T, string | null | undefined, string | null>

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
  request?: SealedRequest | null
}

export const stepStore = {
  hasCall: async (db: Db, runId: Id, callId: Id): Promise<boolean> =>
    (await db
      .selectFrom('steps')
      .select('index')
      .where('run_id', '=', runId)
      .where(sql<string>`result ->> 'call_id'`, '=', callId)
      .executeTakeFirst()) !== undefined,

  of: (db: Db, run: Pick<RunRow, 'id' | 'attempt'>): Promise<StepRow[]> =>
    db
      .selectFrom('steps')
      .selectAll()
      .where('run_id', '=', run.id)
      .where('attempt', '=', run.attempt)
      .orderBy('index')
      .execute(),

  /** Inserts a running step and returns its index. Null if the claim no longer holds. */
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

  /** Marks a tool call that may have completed as interrupted, once a person has decided about it. */
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

  insert: (db: Db, run: Pick<RunRow, 'id' | 'attempt'>, step: Step): Promise<void> =>
    stepStore.insertMany(db, [{ run, step }]),

  async insertMany(db: Db, ended: readonly { run: Pick<RunRow, 'id' | 'attempt'>; step: Step }[]): Promise<void> {
    if (ended.length === 0) return
    const stepRows = ended.map(({ run, step: { cost_nano, request, ...step } }) => ({
      ...step,
      request_id: request?.id ?? null,
      sealed: request?.sealed ?? null,
      run_id: run.id,
      attempt: run.attempt,
      cost_nano: decimal(cost_nano),
    }))
    // Reads previous indexes in one query: a subselect per row would scan the table for each.
    const ids = ended.map(({ run }) => run.id)
    await sql`with before as (
        select run_id, max(index) as index from steps where run_id = any(${ids}::ulid[]) group by run_id),
      given as (select x.*, coalesce(b.index, 0) + 1 as index
        from jsonb_to_recordset(${JSON.stringify(stepRows)}::jsonb) as x(run_id ulid, attempt int, kind text, name text,
          status text, idempotent boolean, result jsonb, error jsonb, cost_nano bigint, started_at timestamptz,
          request_id ulid, sealed text)
        left join before b on b.run_id = x.run_id),
      kept as (insert into model_requests (id, run_id, index, sealed)
        select request_id, run_id, index, sealed from given g where request_id is not null
          and not exists (select from runs u join chats c on c.id = u.chat_id where u.id = g.run_id and c.temporary))
      insert into steps (run_id, index, attempt, kind, name, status, idempotent, result, error, cost_nano, started_at, completed_at)
      select run_id, index, attempt, kind, name, status, idempotent, result, error, cost_nano, started_at, clock_timestamp()
      from given`.execute(db)
  },
}
