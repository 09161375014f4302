/** The policy of an agent for a tool: by its own policies, and by those of the agents that handed it its task. */
import { type AgentRow, agentsById } from '#modules/agents/service.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { DELEGATE } from './delegate-tool.ts'
import type { RunBudgets } from '../../runs/budgets.ts'
import type { ToolTarget } from '#core/answers.ts'

export type Policy = 'allow' | 'ask' | 'deny'
export type AgentTools = readonly { name: string; policy: Policy }[]
const STRICT: readonly Policy[] = ['allow', 'ask', 'deny']
const plain = (name: string): string => name.replace('_', '.')

/**
 * The tools that would loosen an agent's own limits: asked for where they are not named, and what a person has to
 * decide is never the agent's own.
 */
const GUARDED: Readonly<Record<string, Policy>> = {
  'agents.create': 'ask',
  'agents.update': 'ask',
  'chats.update': 'ask',
  'workspaces.update': 'ask',
  'automations.create': 'ask',
  'automations.update': 'ask',
  'automations.fire': 'ask',
  'automations.test_fire': 'ask',
  'automations.retry': 'ask',
  // The runs that these begin would stand below no run: outside its limits, its budgets and its depth.
  'chats.retry': 'deny',
  'chats.start_goal': 'deny',
  'chats.resume_goal': 'deny',
  'chats.actions': 'deny',
}

/**
 * Whether a person may allow a tool for the rest of a chat: not what would loosen the agent's own limits, nor handing tasks
 * on, which is one tool for many agents.
 */
export const mayBeRemembered = (tool: string): boolean => tool !== DELEGATE && !(tool in GUARDED)

/** The strictest that holds: a tool denied by name is not to be had through `do`. Null: not a tool of this agent. */
export function policyOf(tools: AgentTools, { tool, endpoint }: Pick<ToolTarget, 'tool' | 'endpoint'>): Policy | null {
  const named = (name: string) => tools.find((one) => one.name === name || plain(one.name) === name)
  const own = named(tool)
  if (own === undefined) return null
  const guard = endpoint === null ? undefined : GUARDED[endpoint]
  const inner = tool === 'do' && endpoint !== null ? (named(endpoint)?.policy ?? guard) : undefined
  const held = [own.policy, inner ?? 'allow', guard === 'deny' ? guard : 'allow'] as const
  return strictest(...held)
}

export const strictest = (...policies: readonly Policy[]): Policy =>
  STRICT[Math.max(...policies.map((policy) => STRICT.indexOf(policy)))]!

/** An agent's policy where it reaches the same, by whatever way. Null: it does not. */
export function limitOf(tools: AgentTools, { tool, endpoint }: Pick<ToolTarget, 'tool' | 'endpoint'>): Policy | null {
  const direct = policyOf(tools, { tool: endpoint ?? tool, endpoint })
  if (endpoint === null || direct !== null) return direct
  return policyOf(tools, { tool: 'do', endpoint })
}

export type AgentAbove = Pick<AgentRow, 'id' | 'workspace_id' | 'tools' | 'tools_by' | 'mcp_servers' | 'subagents'>

/** The agents of the runs above a run, as they are now. */
export async function agentsAbove(db: Db, lineage: readonly RunBudgets[]): Promise<AgentAbove[]> {
  const ids = lineage.slice(1).flatMap(({ agent_id }) => agent_id ?? [])
  const rows = await agentsById(db, [...new Set(ids)])
  return ids.map(
    (id) => rows.get(id) ?? refuse('not_found', { message: 'The agent that delegated this task was deleted.' }),
  )
}

/**
 * The strictest that holds here and above: nobody gets by way of another agent what he may not do himself. A tool that an
 * agent above does not name is what it is here, where whoever chooses the tools of the one chooses those of the other, in
 * one workspace; an agent from elsewhere does only what those above it may do too.
 */
export function policyWithin(
  { workspace_id }: Pick<AgentRow, 'workspace_id'>,
  own: Policy,
  above: readonly AgentAbove[],
  limit: (one: AgentAbove) => Policy | null,
): Policy {
  return above.reduce<Policy>((policy, one) => {
    const theirs = limit(one)
    if (theirs === null) return one.workspace_id === workspace_id ? policy : 'deny'
    return strictest(policy, theirs)
  }, own)
}
