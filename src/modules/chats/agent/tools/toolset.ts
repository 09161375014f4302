/** An agent's tools in one run: endpoints, external MCP servers and other agents. */
import { type AgentRow, agentsById } from '#modules/agents/service.ts'
import type { Engine } from '#infra/context.ts'
import { sharedPlace } from '#authz/shares.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'
import type { Id } from '#core/ids.ts'
import type { Budget } from '#core/money.ts'
import { type Lender, type Principal, membershipIn } from '#core/principal.ts'
import { actingFor } from '../../runs/acting.ts'
import type { RunBudgets } from '../../runs/budgets.ts'
import type { AgentHandles } from './handles.ts'
import { DELEGATE, delegateTool, taskOf } from './delegate-tool.ts'
import { type OutsideSession, outsideOf, outsidePolicy } from './outside-tools.ts'
import type { RunRow } from '../../runs/run-store.ts'
import { type AgentAbove, type Policy, agentsAbove, limitOf, policyOf, policyWithin } from './tool-policy.ts'
import { type OpenCall, type Result, mistake } from '../../messages/tool-calls.ts'
import type { RunEvent } from '../../runs/facts.ts'

export interface UsableTool {
  name: string
  /** Hash of the external tool's definition; null for built-in tools. */
  definition: string | null
  policy: Policy
  consent: boolean
  repeatable: boolean
  limitMs: number | null
  use(call: ToolUse): Promise<Result | WaitsElsewhere>
}

export interface WaitsElsewhere {
  waits: { chat_id: Id; run_id: Id }
}

export interface ToolUse {
  run: RunRow
  call: OpenCall
  budgets: readonly Budget[]
  consented: boolean
  signal: AbortSignal
  tell(facts: readonly RunEvent[]): Promise<void>
}

export type Delegate = (agentId: Id, task: string, use: ToolUse) => Promise<Result | WaitsElsewhere>

export interface Toolset extends AsyncDisposable {
  empty: boolean
  version: number | null
  offer: readonly Tool[]
  problems: OutsideSession['problems']
  reach(name: string, args: Record<string, unknown>): UsableTool | { unusable: string }
}

const CALL_MS = 60_000

export interface ToolsetOwner {
  agent: AgentRow | null
  principal: Principal
  workspaceId: Id
  lineage: readonly RunBudgets[]
  delegate: Delegate
  signal: AbortSignal
}

export async function toolsetOf(
  engine: Engine<AgentHandles>,
  { agent, principal, workspaceId, lineage, delegate, signal }: ToolsetOwner,
): Promise<Toolset> {
  if (agent === null) return noTools
  const { db } = engine.postgres
  const [outside, subagents, above] = await Promise.all([
    outsideOf(engine, agent, principal.accountId, signal),
    agent.subagents.length === 0 ? none : agentsById(db, idsOf(agent.subagents)),
    lineage.length < 2 ? [] : agentsAbove(db, lineage),
  ])
  const offered = agent.subagents.map(async ({ agent_id, policy }): Promise<AgentRow[]> => {
    const row = subagents.get(agent_id)
    if (row === undefined || row.status === 'trashed' || policy === 'deny') return []
    const isMember = row.workspace_id === workspaceId || membershipIn(principal, row.workspace_id) !== null
    return isMember || (await sharedPlace(db, principal, 'agent', row)) !== null ? [row] : []
  })
  const helpers = (await Promise.all(offered)).flat()
  // Denied tools aren't offered. A model that calls one anyway gets an error.
  const ownTools = agent.tools.filter(({ policy }) => policy !== 'deny').map(({ name }) => name)
  const offer = [
    ...engine.toolbox.offer(ownTools),
    ...outside.offer,
    ...(helpers.length > 0 ? [delegateTool(helpers)] : []),
  ]
  // Prevents access through an agent that its sender or the people who set its tools don't have.
  const lenders = [agent, ...above].flatMap(({ tools_by }) => tools_by)
  const unknown = (name: string) => ({
    unusable: `The tool \`${name}\` doesn’t exist. Available tools: ${offer.map((tool) => tool.name).join(', ')}.`,
  })
  return {
    version: agent.version,
    empty: agent.tools.length + agent.mcp_servers.length + agent.subagents.length === 0,
    offer,
    problems: outside.problems,
    reach(name, args) {
      if (name === DELEGATE && agent.subagents.length > 0) return delegationTool(agent, above, args, delegate)
      const outsideTool = outside.reach(name)
      if (outsideTool !== null)
        return 'unusable' in outsideTool
          ? outsideTool
          : {
              name,
              definition: outsideTool.definition,
              policy: policyWithin(agent, outsideTool.policy, above, (one) => outsidePolicy(one, outsideTool)),
              consent: false,
              // The server's own idempotency hints aren't trusted.
              repeatable: false,
              limitMs: outsideTool.timeoutMs,
              use: ({ signal: until }) => outsideTool.call(args, until),
            }
      const target = engine.toolbox.reach(name, args)
      const policy = target && policyOf(agent.tools, target)
      if (target === null || policy === null) return unknown(name)
      return {
        name: target.endpoint ?? target.tool,
        definition: null,
        policy: policyWithin(agent, policy, above, ({ tools }) => limitOf(tools, target)),
        consent: target.consent !== null,
        repeatable: target.repeatable,
        limitMs: CALL_MS,
        use: (call) => callEndpoint(engine, name, args, call, lenders),
      }
    },
    [Symbol.asyncDispose]: () => outside[Symbol.asyncDispose](),
  }
}

const none: ReadonlyMap<Id, AgentRow> = new Map()
const idsOf = (subagents: AgentRow['subagents']): Id[] => subagents.map(({ agent_id }) => agent_id)

const noTools: Toolset = {
  version: null,
  empty: true,
  offer: [],
  problems: [],
  reach: (name) => ({ unusable: `The tool \`${name}\` doesn’t exist.` }),
  async [Symbol.asyncDispose]() {},
}

function delegationTool(
  agent: AgentRow,
  above: readonly AgentAbove[],
  args: Record<string, unknown>,
  delegate: Delegate,
): UsableTool | { unusable: string } {
  const entry = agent.subagents.find(({ agent_id }) => agent_id === args.agent_id)
  if (!entry) return { unusable: `\`agent_id\` must be one of: ${idsOf(agent.subagents).join(', ')}.` }
  const { agent_id: agentId } = entry
  if (agentId === agent.id || above.some(({ id }) => id === agentId))
    return { unusable: 'This agent is already working on a parent task, so this task can’t be delegated back to it.' }
  const taskRequest = taskOf(args)
  if ('unusable' in taskRequest) return taskRequest
  return {
    name: DELEGATE,
    definition: null,
    policy: policyWithin(
      agent,
      entry.policy,
      above,
      ({ subagents }) => subagents.find(({ agent_id }) => agent_id === agentId)?.policy ?? null,
    ),
    consent: false,
    // Repeating the call doesn't delegate twice.
    repeatable: true,
    limitMs: null,
    use: (call) => delegate(agentId, taskRequest.task, call),
  }
}

/** Calls with the permissions common to the sender and those who chose the tools, limited to the chat's workspace. */
async function callEndpoint(
  engine: Engine<AgentHandles>,
  name: string,
  args: Record<string, unknown>,
  { run, ...use }: ToolUse,
  lenders: readonly Lender[],
): Promise<Result> {
  if (run.held_to !== null && run.held_to !== run.workspace_id)
    return mistake('The API key that started this run doesn’t have access to this workspace.')
  const ctx = await actingFor(engine, run, run.workspace_id, { ...use, lenders })
  return ctx === null
    ? mistake('The account that started this run no longer exists.')
    : engine.toolbox.call(ctx, name, args)
}
