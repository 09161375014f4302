import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { CallRow, CallsOwner } from '#infra/ledger/calls/calls.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { LoggedRequest, ProviderAttempt } from '#infra/request-log/request-log.ts'
import { type Id, firstIdAt } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    request_log: RequestTable
  }
}

interface RequestTable extends Omit<LoggedRequest, 'losses' | 'tried'> {
  losses: string[]
  tried: ProviderAttempt[]
}
export interface RequestRow extends Selectable<RequestTable> {
  key_name: string | null
  first_token_ms: number | null
  total_tokens: bigint | null
  cost: Nano | null
}

export interface RequestFilters {
  key_id?: Id | undefined
  model?: string | undefined
  provider?: string | undefined
  status?: LoggedRequest['status'] | undefined
  error_code?: string | undefined
  /** UTC days, inclusive, `YYYY-MM-DD`. */
  from?: string | undefined
  to?: string | undefined
}

const DAY_MS = 86_400_000
/** An ID is created when its request arrives, slightly before the time in its row. */
const firstIdOn = (day: string, more: number): Id => firstIdAt(Math.max(0, Date.parse(day) + more))

/**
 * Successful requests come from `calls`, the others from `request_log`. Constants let PostgreSQL skip a source that a
 * filter excludes.
 */
const inCalls = sql`select id, account_id, workspace_id, key_id, chat_id, run_id, surface, path, asked_model,
    request_bytes, streamed, model, provider, 'succeeded' as status, 200 as http_status, null::text as error_code,
    null::text as error_message, array[]::text[] as losses, jsonb_build_array(jsonb_build_object('call_id', id,
      'provider', provider, 'model', model, 'why', why, 'outcome', 'answered', 'status', null, 'message', null,
      'duration_ms', duration_ms)) as tried, duration_ms, created_at
  from calls where why is not null`
const inLog = sql`select id, account_id, workspace_id, key_id, chat_id, run_id, surface, path, asked_model,
    request_bytes, streamed, model, provider, status, http_status, error_code, error_message, losses, tried, duration_ms,
    created_at
  from request_log`

/**
 * Requests of a temporary chat, even a deleted one, are visible only to their account. A null reader sees everything.
 */
const isShownTo = (reader: Id | null): RawBuilder<SqlBool> =>
  reader === null
    ? sql`true`
    : sql`(r.chat_id is null or r.account_id = ${reader}
        or not exists (select from chats t where t.id = r.chat_id and t.temporary)
          and not exists (select from deleted_temporary_chats t where t.id = r.chat_id))`

async function newest(db: Db, conditions: readonly RawBuilder<SqlBool>[], limit: number): Promise<RequestRow[]> {
  const among = (source: RawBuilder<unknown>) =>
    sql`(select * from (${source}) r where ${sql.join(conditions, sql` and `)} order by r.id desc limit ${limit})`
  const { rows } = await sql<RequestRow>`select r.*, k.name as key_name, m.first_token_ms, m.total_tokens, m.cost
    from (${among(inCalls)} union all ${among(inLog)} order by id desc limit ${limit}) r
    left join api_keys k on k.id = r.key_id
    cross join lateral (
      select max(c.first_token_ms) filter (where c.status = 'succeeded') as first_token_ms,
        sum(c.total_tokens)::int8 as total_tokens, sum(c.cost_nano)::int8 as cost
      from calls c where c.id = any(array(select (x ->> 'call_id')::ulid from jsonb_array_elements(r.tried) x))
    ) m
    order by r.id desc`.execute(db)
  return rows
}

export const requestStore = {
  async list(
    db: Db,
    { accountId, workspaceIds }: CallsOwner,
    { key_id, model, provider, status, error_code, from, to }: RequestFilters,
    { keptFrom, before, limit, reader }: { keptFrom: Id; before: Id | null; limit: number; reader: Id | null },
  ): Promise<RequestRow[]> {
    const conditions = [sql<SqlBool>`r.id >= ${keptFrom}`, isShownTo(reader)]
    if (accountId !== undefined) conditions.push(sql`r.account_id = ${accountId}`)
    if (workspaceIds !== undefined) conditions.push(sql`r.workspace_id = any(${workspaceIds}::ulid[])`)
    if (key_id !== undefined) conditions.push(sql`r.key_id = ${key_id}`)
    if (model !== undefined) conditions.push(sql`(r.model = ${model} or r.asked_model = ${model})`)
    if (provider !== undefined) conditions.push(sql`r.provider = ${provider}`)
    if (status !== undefined) conditions.push(sql`r.status = ${status}`)
    if (error_code !== undefined) conditions.push(sql`r.error_code = ${error_code}`)
    if (from !== undefined) conditions.push(sql`r.id >= ${firstIdOn(from, 0)}`)
    if (to !== undefined) conditions.push(sql`r.id < ${firstIdOn(to, DAY_MS)}`)
    if (before !== null) conditions.push(sql`r.id < ${before}`)
    return newest(db, conditions, limit)
  },

  async get(db: Db, id: Id, keptFrom: Id, reader: Id | null): Promise<RequestRow | null> {
    const conditions = [sql<SqlBool>`r.id = ${id}`, sql<SqlBool>`r.id >= ${keptFrom}`, isShownTo(reader)]
    const rows = await newest(db, conditions, 1)
    return rows[0] ?? null
  },

  async ofCall(db: Db, id: Id, reader: Id | null): Promise<RequestRow | null> {
    const { rows } = await sql<RequestRow>`select c.id, c.account_id, c.workspace_id, c.key_id, c.chat_id, c.run_id,
        c.surface, null as path, null as asked_model, null as request_bytes, c.streamed, c.model, c.provider, c.status,
        null as http_status, null as error_code, null as error_message, array[]::text[] as losses, '[]'::jsonb as tried,
        c.duration_ms, c.created_at, k.name as key_name, c.first_token_ms, c.total_tokens, c.cost_nano as cost
      from calls c left join api_keys k on k.id = c.key_id
      where c.id = ${id} and exists (select from (select c.account_id, c.chat_id) r where ${isShownTo(reader)})`.execute(
      db,
    )
    return rows[0] ?? null
  },

  async calls(db: Db, ids: readonly Id[]): Promise<Map<Id, CallRow>> {
    const rows = await db
      .selectFrom('calls')
      .selectAll()
      .where(sql<SqlBool>`id = any(${ids}::ulid[])`)
      .execute()
    return new Map(rows.map((row) => [row.id, row]))
  },
}
