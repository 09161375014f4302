import type { z } from 'zod'
import { showResource } from '#authz/resources.ts'
import { toUsd, usdOrNull } from '#core/money.ts'
import { iso } from '#core/time.ts'
import type { Agent, AgentVersion } from './contract.ts'
import type { AgentVersionRow, CountedAgent, Definition } from './store.ts'

export const definitionOf = (from: Definition): Definition => ({
  name: from.name,
  description: from.description,
  system_prompt: from.system_prompt,
  model: from.model,
  tools: from.tools,
  output_schema: from.output_schema,
  max_turns: from.max_turns,
  // Absent in old versions.
  mcp_servers: from.mcp_servers ?? [],
  subagents: from.subagents ?? [],
})

export const changed = (
  before: Definition,
  changes: { [K in keyof Definition]?: Definition[K] | undefined },
): Definition => ({
  ...before,
  ...(Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<Definition>),
})

export const showAgent = (row: CountedAgent): z.output<typeof Agent> => ({
  ...showResource(row),
  ...definitionOf(row),
  version: row.version,
  spend_cap_usd: usdOrNull(row.spend_cap_nano),
  spend_cap_period: row.spend_cap_period,
  spent_usd: toUsd(row.spent_nano ?? 0n),
})

export const showVersion = (row: AgentVersionRow): z.output<typeof AgentVersion> => ({
  id: row.id,
  agent_id: row.agent_id,
  version: row.version,
  ...definitionOf(row.definition),
  created_by: row.created_by,
  created_at: iso(row.created_at),
})
