/** The tools that an agent may use in one run: endpoints of this server, tools of outside servers, other agents. */
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

/** A tool as a run may use it. */
export interface UsableTool {
  /** The name by which people are told of the tool. */
  name: string
  /** The tool's description by its outside server, as a hash; null: a tool of this server's own. */
  definition: string | null
  policy: Policy
  /** A person has to agree to each call, whatever the policy says. */
  consent: boolean
  /** The tool may be called again: to do it twice is as good as once. */
  repeatable: boolean
  /** The time that a call may take; null: as long as the run. */
  limitMs: number | null
  use(call: ToolUse): Promise<Result | WaitsElsewhere>
}

/** The call began something that waits elsewhere, for a person. */
export interface WaitsElsewhere {
  waits: { chat_id: Id; run_id: Id }
}

/** A call of a tool. */
export interface ToolUse {
  run: RunRow
  call: OpenCall
  /** The budgets that the call counts for. */
  budgets: readonly Budget[]
  /** A person has agreed to this very call. */
  consented: boolean
  signal: AbortSignal
  /** Resolves when it is durable. */
  tell(facts: readonly RunEvent[]): Promise<void>
}

/** Hands a task to another agent and sees it to its end. */
export type Delegate = (agentId: Id, task: string, use: ToolUse) => Promise<Result | WaitsElsewhere>

export interface Toolset extends AsyncDisposable {
  /** The agent has no tools at all, or there is none. */
  empty: boolean
  /** The version of the agent whose tools these are. */
  version: number | null
  offer: readonly Tool[]
  /** The servers and tools that cannot be used now, for the run's log. */
  problems: OutsideSession['problems']
  /** The tool that a call by this name reaches, or why it reaches nothing. */
  reach(name: string, given: Record<string, unknown>): UsableTool | { unusable: string }
}

const CALL_MS = 60_000

export interface ToolsetOwner {
  agent: AgentRow | null
  /** The one whose run it is, and where it runs. */
  principal: Principal
  workspaceId: Id
  /** The run and those above it, itself first. */
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
  const [outside, others, above] = await Promise.all([
    outsideOf(engine, agent, principal.accountId, signal),
    agent.subagents.length === 0 ? none : agentsById(db, idsOf(agent.subagents)),
    lineage.length < 2 ? [] : agentsAbove(db, lineage),
  ])
  const offered = agent.subagents.map(async ({ agent_id, policy }): Promise<AgentRow[]> => {
    const row = others.get(agent_id)
    if (row === undefined || row.status === 'trashed' || policy === 'deny') return []
    const near = row.workspace_id === workspaceId || membershipIn(principal, row.workspace_id) !== null
    return near || (await sharedPlace(db, principal, 'agent', row)) !== null ? [row] : []
  })
  const helpers = (await Promise.all(offered)).flat()
  // A tool that is denied is not offered; a model that calls it all the same is told.
  const own = agent.tools.filter(({ policy }) => policy !== 'deny').map(({ name }) => name)
  const offer = [...engine.toolbox.offer(own), ...outside.offer, ...(helpers.length > 0 ? [delegateTool(helpers)] : [])]
  // Nobody gets by an agent, or by those above it, what they could not do themselves.
  const lenders = [agent, ...above].flatMap(({ tools_by }) => tools_by)
  const unknown = (name: string) => ({
    unusable: `The tool \`${name}\` doesn’t exist. Available tools: ${offer.map((tool) => tool.name).join(', ')}.`,
  })
  return {
    version: agent.version,
    empty: agent.tools.length + agent.mcp_servers.length + agent.subagents.length === 0,
    offer,
    problems: outside.problems,
    reach(name, given) {
      if (name === DELEGATE && agent.subagents.length > 0) return handing(agent, above, given, delegate)
      const beyond = outside.reach(name)
      if (beyond !== null)
        return 'unusable' in beyond
          ? beyond
          : {
              name,
              definition: beyond.definition,
              policy: policyWithin(agent, beyond.policy, above, (one) => outsidePolicy(one, beyond)),
              consent: false,
              // The server's own word on its tool is not a ground to call it twice.
              repeatable: false,
              limitMs: beyond.timeoutMs,
              use: ({ signal: until }) => beyond.call(given, until),
            }
      const reached = engine.toolbox.reach(name, given)
      const policy = reached && policyOf(agent.tools, reached)
      if (reached === null || policy === null) return unknown(name)
      return {
        name: reached.endpoint ?? reached.tool,
        definition: null,
        policy: policyWithin(agent, policy, above, ({ tools }) => limitOf(tools, reached)),
        consent: reached.consent !== null,
        repeatable: reached.repeatable,
        limitMs: CALL_MS,
        use: (call) => callHere(engine, name, given, call, lenders),
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

/** The tool that hands a task on, for these arguments. */
function handing(
  agent: AgentRow,
  above: readonly AgentAbove[],
  given: Record<string, unknown>,
  delegate: Delegate,
): UsableTool | { unusable: string } {
  const entry = agent.subagents.find(({ agent_id }) => agent_id === given.agent_id)
  if (!entry) return { unusable: `\`agent_id\` must be one of: ${idsOf(agent.subagents).join(', ')}.` }
  const { agent_id: agentId } = entry
  if (agentId === agent.id || above.some(({ id }) => id === agentId))
    return { unusable: 'This agent is already working on a parent task, so this task can’t be delegated back to it.' }
  const wanted = taskOf(given)
  if ('unusable' in wanted) return wanted
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
    // The same call hands the same task on once.
    repeatable: true,
    limitMs: null,
    use: (call) => delegate(agentId, wanted.task, call),
  }
}

/** Calls in the rights of whoever sent the message and of who chose the tools, and in no workspace but the chat's. */
async function callHere(
  engine: Engine<AgentHandles>,
  name: string,
  given: Record<string, unknown>,
  { run, ...use }: ToolUse,
  lenders: readonly Lender[],
): Promise<Result> {
  if (run.held_to !== null && run.held_to !== run.workspace_id)
    return mistake('The API key that started this run doesn’t have access to this workspace.')
  const ctx = await actingFor(engine, run, run.workspace_id, { ...use, lenders })
  return ctx === null
    ? mistake('The account that started this run no longer exists.')
    : engine.toolbox.call(ctx, name, given)
}
