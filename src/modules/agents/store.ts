import { type ColumnType, type Generated, type JSONColumnType, CompiledQuery, type Selectable, sql } from 'kysely'
import type { Db, Postgres } from '#infra/postgres/client.ts'
import { newestFirst } from '#infra/postgres/newest-first.ts'
import { type ResourcePage, type ResourceRow, resourcePageText } from '#authz/resources.ts'
import type { Id } from '#core/ids.ts'
import type { Lender } from '#core/principal.ts'
import type { Nano } from '#core/money.ts'
import { type Period, periodKey } from '#core/time.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    agents: AgentTable
    agent_versions: AgentVersionTable
  }
}

export interface Definition {
  name: string
  description: string | null
  system_prompt: string | null
  model: string | null
  tools: { name: string; policy: Policy }[]
  output_schema: Record<string, unknown> | null
  max_turns: number | null
  mcp_servers: {
    name: string
    url: string
    header_names: string[]
    policy: Policy
    tools: { name: string; policy: Policy }[]
    timeout_seconds: number
  }[]
  subagents: { agent_id: Id; policy: Policy }[]
}
type Policy = 'allow' | 'ask' | 'deny'

type Json<T> = ColumnType<T, string | null, string | null>
interface AgentTable extends Omit<Definition, 'tools' | 'output_schema' | 'mcp_servers' | 'subagents'> {
  id: Id
  tools: JSONColumnType<Definition['tools']>
  output_schema: Json<Definition['output_schema']>
  mcp_servers: JSONColumnType<Definition['mcp_servers']>
  subagents: JSONColumnType<Definition['subagents']>
  /** Accounts that last set tools, servers and subagents. Runs are limited to what all of them can do. */
  tools_by: JSONColumnType<Lender[]>
  sealed_headers: Generated<string | null>
  version: Generated<number>
  spend_cap_nano: Generated<Nano | null>
  spend_cap_period: Generated<Period>
}
export type AgentRow = Selectable<AgentTable> & ResourceRow
export type CountedAgent = AgentRow & { spent_nano: Nano | null }
export type OtherColumns = Partial<
  Pick<AgentRow, 'spend_cap_nano' | 'spend_cap_period' | 'sealed_headers' | 'tools_by'>
>

interface AgentVersionTable {
  id: Id
  agent_id: Id
  version: number
  definition: JSONColumnType<Definition>
  created_by: Id | null
  created_at: Generated<Date>
}
export type AgentVersionRow = Selectable<AgentVersionTable>

const toColumns = ({ tools, output_schema, mcp_servers, subagents, ...rest }: Definition) => ({
  ...rest,
  tools: JSON.stringify(tools),
  mcp_servers: JSON.stringify(mcp_servers),
  subagents: JSON.stringify(subagents),
  output_schema: output_schema && JSON.stringify(output_schema),
})

/** Spend in the current budget period. Takes the parameters of `present`. */
const spentAt = (first: number): string => `(select s.nano from spends s where s.subject = a.id and s.period =
  case a.spend_cap_period when 'day' then $${first} when 'week' then $${first + 1} when 'month' then $${first + 2} else 'total' end)`
const currentPeriods = (now = new Date()): string[] =>
  (['day', 'week', 'month'] as const).map((period) => periodKey(period, now))

const FIND = `select r.*, a.*, ${spentAt(2)} as spent_nano from resources r join agents a on a.id = r.id where r.id = $1`

export const agentStore = {
  /** Uses a prepared statement, because every request on an agent needs it. */
  async find({ pool }: Postgres, id: Id): Promise<CountedAgent | null> {
    const { rows } = await pool.query<CountedAgent>({
      name: 'agent_find',
      text: FIND,
      values: [id, ...currentPeriods()],
    })
    return rows[0] ?? null
  },

  async get(db: Db, id: Id): Promise<CountedAgent | undefined> {
    const { rows } = await db.executeQuery<CountedAgent>(CompiledQuery.raw(FIND, [id, ...currentPeriods()]))
    return rows[0]
  },

  async some(db: Db, ids: readonly Id[]): Promise<AgentRow[]> {
    const { rows } = await sql<AgentRow>`select r.*, a.* from resources r join agents a on a.id = r.id
      where r.id = any(${ids}::ulid[])`.execute(db)
    return rows
  },

  async list({ pool }: Postgres, page: Omit<ResourcePage, 'kind' | 'also'>): Promise<CountedAgent[]> {
    const { shape, text, values } = resourcePageText({ ...page, kind: 'agent' })
    const { rows } = await pool.query<CountedAgent>({
      name: `agents_list_${shape}`,
      text: `select r.*, a.*, ${spentAt(values.length + 1)} as spent_nano from ${text} r
        join agents a on a.id = r.id order by r.id desc`,
      values: [...values, ...currentPeriods()],
    })
    return rows
  },

  async insert(
    db: Db,
    id: Id,
    definition: Definition,
    { tools_by, ...beside }: OtherColumns & Pick<AgentRow, 'tools_by'>,
  ): Promise<void> {
    await db
      .insertInto('agents')
      .values({ id, ...toColumns(definition), ...beside, tools_by: JSON.stringify(tools_by) })
      .execute()
  },

  async update(db: Db, id: Id, definition: Definition): Promise<number> {
    const { version } = await db
      .updateTable('agents')
      .set({ ...toColumns(definition), version: sql<number>`version + 1` })
      .where('id', '=', id)
      .returning('version')
      .executeTakeFirstOrThrow()
    return version
  },

  async updateOtherColumns(db: Db, id: Id, { tools_by, ...beside }: OtherColumns): Promise<void> {
    const changes = { ...beside, ...(tools_by && { tools_by: JSON.stringify(tools_by) }) }
    await db.updateTable('agents').set(changes).where('id', '=', id).execute()
  },

  async insertVersion(
    db: Db,
    row: Pick<AgentVersionRow, 'id' | 'agent_id' | 'version' | 'created_by' | 'definition'>,
  ): Promise<void> {
    await db
      .insertInto('agent_versions')
      .values({ ...row, definition: JSON.stringify(row.definition) })
      .execute()
  },

  versions: (db: Db, agentId: Id, before: number | null, limit: number): Promise<AgentVersionRow[]> =>
    db
      .selectFrom('agent_versions')
      .selectAll()
      .where('agent_id', '=', agentId)
      .$call(newestFirst('version', before, limit))
      .execute(),
}
