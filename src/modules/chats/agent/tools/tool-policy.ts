/** An agent's tool policies, combined with those of the agents that delegated to it. */
import { type AgentRow, agentsById } from '#modules/agents/service.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { DELEGATE } from './delegate-tool.ts'
import type { RunBudgets } from '../../runs/budgets.ts'
import type { ToolTarget } from '#core/answers.ts'

export type Policy = 'allow' | 'ask' | 'deny'
export type AgentTools = readonly { name: string; policy: Policy }[]
const STRICT: readonly Policy[] = ['allow', 'ask', 'deny']
const toolName = (name: string): string => name.replace('_', '.')

/** Tools that could loosen the agent's own limits. These are defaults, for tools the agent's policies don't name. */
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
  // Runs started by these would have no parent run, which bypasses the agent's limits, budgets and depth.
  'chats.retry': 'deny',
  'chats.start_goal': 'deny',
  'chats.resume_goal': 'deny',
  'chats.actions': 'deny',
}

/** False for tools that loosen the agent's limits, and for `delegate`, which stands for many agents. */
export const mayBeRemembered = (tool: string): boolean => tool !== DELEGATE && !(tool in GUARDED)

/**
 * Returns the strictest policy, so that a tool denied by name can't be called through `do`. Null if the agent doesn't
 * have the tool.
 */
export function policyOf(tools: AgentTools, { tool, endpoint }: Pick<ToolTarget, 'tool' | 'endpoint'>): Policy | null {
  const find = (name: string) => tools.find((one) => one.name === name || toolName(one.name) === name)
  const entry = find(tool)
  if (entry === undefined) return null
  const guard = endpoint === null ? undefined : GUARDED[endpoint]
  const innerPolicy = tool === 'do' && endpoint !== null ? (find(endpoint)?.policy ?? guard) : undefined
  const policies = [entry.policy, innerPolicy ?? 'allow', guard === 'deny' ? guard : 'allow'] as const
  return strictest(...policies)
}

export const strictest = (...policies: readonly Policy[]): Policy =>
  STRICT[Math.max(...policies.map((policy) => STRICT.indexOf(policy)))]!

/** The policy that applies however the agent reaches the endpoint. Null if it can't. */
export function limitOf(tools: AgentTools, { tool, endpoint }: Pick<ToolTarget, 'tool' | 'endpoint'>): Policy | null {
  const direct = policyOf(tools, { tool: endpoint ?? tool, endpoint })
  if (endpoint === null || direct !== null) return direct
  return policyOf(tools, { tool: 'do', endpoint })
}

export type AgentAbove = Pick<AgentRow, 'id' | 'workspace_id' | 'tools' | 'tools_by' | 'mcp_servers' | 'subagents'>

export async function agentsAbove(db: Db, lineage: readonly RunBudgets[]): Promise<AgentAbove[]> {
  const ids = lineage.slice(1).flatMap(({ agent_id }) => agent_id ?? [])
  const rows = await agentsById(db, [...new Set(ids)])
  return ids.map(
    (id) => rows.get(id) ?? refuse('not_found', { message: 'The agent that delegated this task was deleted.' }),
  )
}

/**
 * Returns the strictest policy of this agent and its ancestors, so that delegation can't widen permissions.
 * In one workspace, the same people choose the tools of both agents, so a tool that an ancestor doesn't name keeps this
 * agent's policy. An agent from another workspace can use only tools that its ancestors have.
 */
export function policyWithin(
  { workspace_id }: Pick<AgentRow, 'workspace_id'>,
  own: Policy,
  above: readonly AgentAbove[],
  limit: (one: AgentAbove) => Policy | null,
): Policy {
  return above.reduce<Policy>((policy, one) => {
    const ancestorPolicy = limit(one)
    if (ancestorPolicy === null) return one.workspace_id === workspace_id ? policy : 'deny'
    return strictest(policy, ancestorPolicy)
  }, own)
}
