import { isUnclear } from '#gateway/wire/parts/meaning.ts'
import type { Engine } from '#infra/context.ts'
import type { Budget } from '#core/money.ts'
import { Refusal, errorBody } from '#core/errors.ts'
import { iso } from '#core/time.ts'
import { isApproved } from '../../approvals/approvals.ts'
import { isWatched } from '../../runs/acting.ts'
import { mayBeRemembered } from './tool-policy.ts'
import type { Toolset, UsableTool } from './toolset.ts'
import { STOPPED } from '../../runs/abort-reasons.ts'
import type { Part } from '../../messages/parts.ts'
import { type PendingAction, type RunRow, approvedCalls } from '../../runs/run-store.ts'
import { type StepRow, stepStore } from '../../runs/step-store.ts'
import { type OpenCall, type Result, argumentsOf, bounded, mistake, openCalls } from '../../messages/tool-calls.ts'
import type { RunEvent } from '../../runs/facts.ts'

const DECIDE_MS = 7 * 86_400_000

export interface Calling {
  engine: Engine
  run: RunRow
  budgets: readonly Budget[]
  toolset: Toolset
  parts: Part[]
  /** The answer hit its token limit, so the last call may be incomplete. */
  isCut: boolean
  signal: AbortSignal
  tell(facts: readonly RunEvent[]): Promise<void>
  /** Tool steps of this attempt from an earlier process. */
  before: readonly StepRow[]
}

export async function answerCalls(calling: Calling): Promise<PendingAction[]> {
  const pending: PendingAction[] = []
  const last = calling.parts.findLast(({ type }) => type !== 'tool_result')
  for (const open of openCalls(calling.parts)) {
    calling.signal.throwIfAborted()
    if (calling.isCut && open.call === last) {
      await addResult(calling, open, mistake('The tool call was cut off by the output token limit, so it wasn’t made.'))
      continue
    }
    const outcome = await decide(calling, open)
    // Calls with the same ID are decided one at a time, because a decision names only the ID.
    if ('kind' in outcome) pending.push(...(pending.some(({ id }) => id === outcome.id) ? [] : [outcome]))
    else await addResult(calling, open, outcome)
  }
  return pending
}

async function addResult({ parts, tell }: Calling, { call }: OpenCall, result: Result): Promise<void> {
  const { output, is_error } = bounded(result)
  parts.push({ type: 'tool_result', tool_call_id: call.id, output, is_error })
  await tell([{ type: 'tool_result', data: { tool_call_id: call.id, output, is_error } }])
}

async function decide(calling: Calling, open: OpenCall): Promise<Result | PendingAction> {
  const { toolset, before, run } = calling
  const { call, index } = open
  const args = argumentsOf(call)
  const parameters = toolset.offer.find(({ name }) => name === call.name)?.parameters
  if (args === null || isUnclear(args, parameters)) return mistake('The arguments must be a JSON object.')
  const lastStep = before.findLast(({ input }) => (input as { part?: number } | null)?.part === index)
  // The result was saved but not announced, so don't repeat the call.
  if (lastStep?.status === 'completed') return lastStep.result as Result
  const tool = toolset.reach(call.name, args)
  if ('unusable' in tool) return mistake(tool.unusable)
  if (tool.policy === 'deny') return mistake(`This agent can’t use \`${tool.name}\`.`)
  if (tool.consent && !isWatched(run)) return consentMissing(tool.name)
  const pending = (kind: string): PendingAction => ({
    id: call.id,
    kind,
    tool: tool.name,
    arguments: args,
    agent_version: toolset.version,
    definition: tool.definition,
    can_remember: kind === 'approval' && isWatched(run) && !tool.consent && mayBeRemembered(tool.name),
    expires_at: iso(new Date(Date.now() + DECIDE_MS)),
  })
  // Even if allowed: the approval covered one execution.
  if (lastStep?.status === 'running' && !tool.repeatable) return pending('interrupted')
  const isAllowed = approvedCalls(run).some(({ part, definition }) => part === index && definition === tool.definition)
  if (tool.consent && !isAllowed) return pending('approval')
  if (tool.policy === 'ask' && !isAllowed && !(await isApproved(calling.engine.postgres.db, run, tool)))
    return pending('approval')
  return executeCall(calling, open, tool, args, isAllowed)
}

const consentMissing = (tool: string): Result => ({
  output: errorBody(
    new Refusal('consent_required', {
      message: `\`${tool}\` requires a person’s approval, and no one is watching this run. Describe what should be done so that a person can do it.`,
      details: { endpoint: tool },
    }),
  ),
  is_error: true,
})

async function executeCall(
  { engine, run, budgets, signal, tell }: Calling,
  open: OpenCall,
  { name, repeatable, limitMs, use }: UsableTool,
  args: Record<string, unknown>,
  consented: boolean,
): Promise<Result | PendingAction> {
  const { call, index } = open
  const { db } = engine.postgres
  const step = await stepStore.begin(db, run, {
    kind: 'tool',
    name,
    idempotent: repeatable,
    input: { tool_call_id: call.id, part: index, arguments: args },
  })
  if (step === null) throw new Error('another process has the run')
  const until = limitMs === null ? signal : AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
  const result = await Promise.race([use({ run, call: open, budgets, consented, signal: until, tell }), onAbort(until)])
  if (signal.aborted) {
    // On any other abort, another process continues the run and must know that the call may have been executed.
    if (signal.reason === STOPPED) await stepStore.end(db, run.id, step, 'cancelled', null)
    signal.throwIfAborted()
  }
  if (result && 'waits' in result) {
    await stepStore.interrupt(db, run, index)
    return {
      id: call.id,
      kind: 'subagent',
      tool: name,
      arguments: { ...args, ...result.waits },
      agent_version: null,
      definition: null,
      can_remember: false,
      expires_at: null,
    }
  }
  const boundedResult = bounded(
    result ??
      mistake(`The call timed out after ${(limitMs ?? 0) / 1000} seconds. Its effects up to then were not undone.`),
  )
  await stepStore.end(db, run.id, step, 'completed', boundedResult)
  return boundedResult
}

const onAbort = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null)
    else signal.addEventListener('abort', () => resolve(null), { once: true })
  })
