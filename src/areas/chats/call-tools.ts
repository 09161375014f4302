import type { Context, Engine } from '#engine/context.ts'
import type { Budget } from '#kernel/money.ts'
import { scopes as allScopes } from '#kernel/scopes.ts'
import { iso } from '#kernel/time.ts'
import type { Fact } from './answer.ts'
import { STOPPED } from './leaving.ts'
import type { Part } from './parts.ts'
import { type PendingAction, type RunRow, type StepRow, stepStore } from './run-store.ts'
import {
  type AgentTools,
  type OpenCall,
  type Reached,
  type Result,
  argumentsOf,
  bounded,
  mistake,
  openCalls,
  policyOf,
} from './toolset.ts'

const CALL_MS = 60_000
/** How long a person has for a decision; what is not allowed by then is denied. */
const DECIDE_MS = 7 * 86_400_000

/** Calls of one run's tools, on the parts of its answer. */
export interface Calling {
  engine: Engine
  run: RunRow
  /** What its calls count for. */
  budgets: readonly Budget[]
  tools: AgentTools
  parts: Part[]
  /** Fires when the run is to end. */
  signal: AbortSignal
  /** Resolves when what was told is durable. */
  tell(facts: readonly Fact[]): Promise<void>
  /** What tools of this attempt did before, when it is a run that goes on. */
  before: readonly StepRow[]
}

/** Parts, by their place, whose call a person has allowed. */
const approvedIn = ({ options }: RunRow): readonly number[] =>
  (options as { approved?: number[] } | null)?.approved ?? []

/** Gives every open call its result; answers those that a person has to decide first. */
export async function answerCalls(calling: Calling): Promise<PendingAction[]> {
  const pending: PendingAction[] = []
  for (const open of openCalls(calling.parts)) {
    calling.signal.throwIfAborted()
    const decided = await decide(calling, open)
    if ('kind' in decided) pending.push(decided)
    else await give(calling, open, decided)
  }
  return pending
}

async function give({ parts, tell }: Calling, { call }: OpenCall, result: Result): Promise<void> {
  const { output, is_error } = bounded(result)
  parts.push({ type: 'tool_result', tool_call_id: call.id, output, is_error })
  await tell([{ type: 'tool_result', data: { tool_call_id: call.id, output, is_error } }])
}

async function decide(calling: Calling, open: OpenCall): Promise<Result | PendingAction> {
  const { engine, tools, before, run } = calling
  const { call, index } = open
  const given = argumentsOf(call)
  if (given === null) return mistake('The arguments are no JSON object. Write them as one.')
  const reached = engine.toolbox.reach(call.name, given)
  const policy = reached && policyOf(tools, reached)
  if (reached === null || policy === null)
    return mistake(`There is no tool \`${call.name}\` here; there are: ${tools.map(({ name }) => name).join(', ')}.`)
  if (policy === 'deny') return mistake(`This agent may not use \`${reached.endpoint ?? reached.tool}\`.`)
  const last = before.findLast(({ input }) => (input as { part?: number } | null)?.part === index)
  // Its result was kept, its telling was not: it is not done again.
  if (last?.status === 'completed') return last.result as Result
  const pending = (kind: string): PendingAction => ({
    id: call.id,
    kind,
    tool: reached.endpoint ?? reached.tool,
    arguments: given,
    expires_at: iso(new Date(Date.now() + DECIDE_MS)),
  })
  // Also what was allowed: it was allowed once.
  if (last?.status === 'running' && !reached.repeatable) return pending('interrupted')
  if (approvedIn(run).includes(index)) return carryOut(calling, open, reached, given)
  return policy === 'ask' ? pending('approval') : carryOut(calling, open, reached, given)
}

/** Its step is written before it is begun: whoever takes the run over knows what may have been done. */
async function carryOut(
  { engine, run, budgets, signal }: Calling,
  { call, index }: OpenCall,
  { tool, endpoint, repeatable }: Reached,
  given: Record<string, unknown>,
): Promise<Result> {
  const { db } = engine.postgres
  const step = await stepStore.begin(db, run, {
    kind: 'tool',
    name: endpoint ?? tool,
    idempotent: repeatable,
    input: { tool_call_id: call.id, part: index, arguments: given },
  })
  if (step === null) throw new Error('another process has the run')
  const late = AbortSignal.timeout(CALL_MS)
  const until = AbortSignal.any([signal, late])
  const result = await Promise.race([called(engine, run, budgets, until, call.name, given), ended(until)])
  if (signal.aborted) {
    // Left for any other reason the run goes on elsewhere, where it counts that this may have been done.
    if (signal.reason === STOPPED) await stepStore.end(db, run.id, step, 'cancelled', null)
    signal.throwIfAborted()
  }
  const kept = bounded(
    result ?? mistake(`The call took longer than ${CALL_MS / 1000} seconds. What it had done by then is not undone.`),
  )
  await stepStore.end(db, run.id, step, 'completed', kept)
  return kept
}

/** In the rights of whoever sent the message, and in no workspace but the chat's. */
async function called(
  engine: Engine,
  run: RunRow,
  budgets: readonly Budget[],
  signal: AbortSignal,
  name: string,
  given: Record<string, unknown>,
): Promise<Result> {
  if (run.held_to !== null && run.held_to !== run.workspace_id)
    return mistake('The key that this run was started with does not reach this workspace.')
  const ctx: Context | null = await engine.actAs({
    accountId: run.account_id,
    scopes: run.scopes ?? allScopes,
    workspaceId: run.workspace_id,
    payingKeyId: run.key_id,
    run: { id: run.id, budgets },
    signal,
  })
  return ctx === null ? mistake('Who asked is gone.') : engine.toolbox.call(ctx, name, given)
}

/** Null once the signal has fired. */
const ended = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null)
    else signal.addEventListener('abort', () => resolve(null), { once: true })
  })
