/** What agents that hand tasks on hold those below them to. */
import { type AgentRow, agentsById } from '#areas/agents/service.ts'
import type { Db } from '#engine/postgres/client.ts'
import { refuse } from '#kernel/errors.ts'
import type { Lineal } from '../../runs/budgets.ts'
import { type Policy, strictest } from '../../messages/tool-calls.ts'

export type Above = Pick<AgentRow, 'id' | 'workspace_id' | 'tools' | 'tools_by' | 'mcp_servers' | 'subagents'>

/** The agents of the runs above a run, as they are now. */
export async function aboveOf(db: Db, lineage: readonly Lineal[]): Promise<Above[]> {
  const ids = lineage.slice(1).flatMap(({ agent_id }) => agent_id ?? [])
  const rows = await agentsById(db, [...new Set(ids)])
  return ids.map(
    (id) => rows.get(id) ?? refuse('not_found', { message: 'An agent that this was handed on by is gone.' }),
  )
}

/**
 * The strictest that holds here and above: nobody gets by way of another agent what he may not do himself. A tool that an
 * agent above does not name is what it is here, where whoever chooses the tools of the one chooses those of the other, in
 * one workspace; an agent from elsewhere does only what those above it may do too.
 */
export function reined(
  { workspace_id }: Pick<AgentRow, 'workspace_id'>,
  own: Policy,
  above: readonly Above[],
  limit: (one: Above) => Policy | null,
): Policy {
  return above.reduce<Policy>((policy, one) => {
    const theirs = limit(one)
    if (theirs === null) return one.workspace_id === workspace_id ? policy : 'deny'
    return strictest(policy, theirs)
  }, own)
}
