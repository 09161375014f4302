/** Everything that an agent may use in one run: endpoints of this server, and tools of outside servers. */
import type { AgentRow } from '#areas/agents/service.ts'
import type { Engine } from '#engine/context.ts'
import type { Tool } from '#gateway/turn.ts'
import type { Id } from '#kernel/ids.ts'
import type { Budget } from '#kernel/money.ts'
import { scopes as allScopes } from '#kernel/scopes.ts'
import { type Outside, noOutside, outsideOf } from './outside-tools.ts'
import type { RunRow } from './run-store.ts'
import { type AgentTools, type Policy, type Result, mistake, policyOf } from './toolset.ts'

/** A tool as a run may use it. */
export interface Usable {
  /** As people are told of it. */
  name: string
  policy: Policy
  /** To do it twice is as good as once. */
  repeatable: boolean
  /** How long a call may take. */
  limitMs: number
  use(call: Use): Promise<Result>
}

/** One call of a tool. */
export interface Use {
  run: RunRow
  /** What it counts for. */
  budgets: readonly Budget[]
  signal: AbortSignal
}

export interface Kit extends AsyncDisposable {
  /** The agent has no tools at all, or there is none. */
  empty: boolean
  offer: readonly Tool[]
  /** What cannot be used now, for the run's log. */
  problems: Outside['problems']
  /** What a call by this name reaches, or why it reaches nothing. */
  reach(name: string, given: Record<string, unknown>): Usable | { unusable: string }
}

const CALL_MS = 60_000

export async function kitOf(engine: Engine, agent: AgentRow | null, signal: AbortSignal): Promise<Kit> {
  const tools: AgentTools = agent?.tools ?? []
  const outside = agent === null ? noOutside : await outsideOf(engine, agent, signal)
  // A tool that is denied is not offered; a model that calls it all the same is told.
  const own = engine.toolbox.offer(tools.filter(({ policy }) => policy !== 'deny').map(({ name }) => name))
  const offer = [...own, ...outside.offer]
  return {
    empty: tools.length === 0 && (agent?.mcp_servers.length ?? 0) === 0,
    offer,
    problems: outside.problems,
    reach(name, given) {
      const beyond = outside.reach(name)
      if (beyond !== null)
        return 'unusable' in beyond
          ? beyond
          : {
              name,
              policy: beyond.policy,
              // What it says of itself is no ground to do it twice.
              repeatable: false,
              limitMs: beyond.timeoutMs,
              use: ({ signal }) => beyond.call(given, signal),
            }
      const reached = engine.toolbox.reach(name, given)
      const policy = reached && policyOf(tools, reached)
      if (reached === null || policy === null)
        return {
          unusable: `There is no tool \`${name}\` here; there are: ${offer.map((tool) => tool.name).join(', ')}.`,
        }
      return {
        name: reached.endpoint ?? reached.tool,
        policy,
        repeatable: reached.repeatable,
        limitMs: CALL_MS,
        use: (call) => callHere(engine, name, given, call),
      }
    },
    [Symbol.asyncDispose]: () => outside[Symbol.asyncDispose](),
  }
}

/** In the rights of whoever sent the message, and in no workspace but the chat's. */
async function callHere(
  engine: Engine,
  name: string,
  given: Record<string, unknown>,
  { run, budgets, signal }: Use,
): Promise<Result> {
  if (run.held_to !== null && run.held_to !== run.workspace_id)
    return mistake('The key that this run was started with does not reach this workspace.')
  const ctx = await actingFor(engine, run, run.workspace_id, { budgets, signal })
  return ctx === null ? mistake('Who asked is gone.') : engine.toolbox.call(ctx, name, given)
}

/** The server acting for who sent the message of a run, within that run. Null when they are gone. */
export const actingFor = (
  engine: Engine,
  run: RunRow,
  workspaceId: Id | null,
  { budgets, signal }: Pick<Use, 'budgets' | 'signal'>,
) =>
  engine.actAs({
    accountId: run.account_id,
    scopes: run.scopes ?? allScopes,
    workspaceId,
    payingKeyId: run.key_id,
    run: { id: run.id, budgets },
    signal,
  })
