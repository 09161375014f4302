import { type ColumnType, type Generated, type JSONColumnType, type Selectable, sql } from 'kysely'
import type { Db, Postgres } from '#engine/postgres/client.ts'
import { type ResourcePage, type ResourceRow, resourcePageText } from '#engine/resources.ts'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import type { Period } from '#kernel/time.ts'

declare module '#engine/postgres/tables.ts' {
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
  /** The headers that go to them, by server. */
  sealed_headers: Generated<string | null>
  version: Generated<number>
  spend_cap_nano: Generated<Nano | null>
  spend_cap_period: Generated<Period>
}
export type AgentRow = Selectable<AgentTable> & ResourceRow
export type CountedAgent = AgentRow & { spent_nano: Nano | null }
/** What of its row is no part of its definition. */
export type Beside = Partial<Pick<AgentRow, 'spend_cap_nano' | 'spend_cap_period' | 'sealed_headers'>>

interface AgentVersionTable {
  id: Id
  agent_id: Id
  version: number
  definition: JSONColumnType<Definition>
  created_by: Id | null
  created_at: Generated<Date>
}
export type AgentVersionRow = Selectable<AgentVersionTable>

const stored = ({ tools, output_schema, mcp_servers, subagents, ...rest }: Definition) => ({
  ...rest,
  tools: JSON.stringify(tools),
  mcp_servers: JSON.stringify(mcp_servers),
  subagents: JSON.stringify(subagents),
  output_schema: output_schema && JSON.stringify(output_schema),
})

/** What was spent in the present period of its budget. */
const spent = `(select s.nano from spends s where s.subject = a.id and s.period =
  (periods_of((now() at time zone 'UTC')::date))[array_position(array['day', 'week', 'month', 'total'], a.spend_cap_period)])`

const listText = (after: boolean): string =>
  `select r.*, a.*, ${spent} as spent_nano from ${resourcePageText(after)} r join agents a on a.id = r.id order by r.id desc`
const LIST = { name: 'agents_list', text: listText(false) }
const LIST_AFTER = { name: 'agents_list_after', text: listText(true) }

export const agentStore = {
  get: (db: Db, id: Id): Promise<CountedAgent | undefined> =>
    db
      .selectFrom('resources as r')
      .innerJoin('agents as a', 'a.id', 'r.id')
      .selectAll(['r', 'a'])
      .select(sql.raw<Nano | null>(spent).as('spent_nano'))
      .where('r.id', '=', id)
      .executeTakeFirst(),

  async some(db: Db, ids: readonly Id[]): Promise<AgentRow[]> {
    const { rows } = await sql<AgentRow>`select r.*, a.* from resources r join agents a on a.id = r.id
      where r.id = any(${ids}::ulid[])`.execute(db)
    return rows
  },

  async list(
    { pool }: Postgres,
    { workspaces, status, before, limit }: Omit<ResourcePage, 'kind' | 'also'>,
  ): Promise<CountedAgent[]> {
    const { rows } = await pool.query<CountedAgent>({
      ...(before === null ? LIST : LIST_AFTER),
      values: [workspaces, 'agent', status, limit, ...(before === null ? [] : [before])],
    })
    return rows
  },

  async insert(db: Db, id: Id, definition: Definition, beside: Beside): Promise<void> {
    await db
      .insertInto('agents')
      .values({ id, ...stored(definition), ...beside })
      .execute()
  },

  /** Replaces the definition and answers the number of the version that this is. */
  async update(db: Db, id: Id, definition: Definition): Promise<number> {
    const { version } = await db
      .updateTable('agents')
      .set({ ...stored(definition), version: sql<number>`version + 1` })
      .where('id', '=', id)
      .returning('version')
      .executeTakeFirstOrThrow()
    return version
  },

  async updateBeside(db: Db, id: Id, beside: Beside): Promise<void> {
    await db.updateTable('agents').set(beside).where('id', '=', id).execute()
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
      .$if(before !== null, (query) => query.where('version', '<', before!))
      .orderBy('version', 'desc')
      .limit(limit)
      .execute(),
}
