import { setTimeout as sleep } from 'node:timers/promises'
import { type AgentRow, agentBehind } from '#modules/agents/service.ts'
import type { Engine } from '#infra/context.ts'
import { guestOf } from '#authz/shares.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import type { Completion, ServedCall } from '#gateway/call/complete.ts'
import { refusalOf } from '#gateway/model/refusal.ts'
import type { CanonicalRequest } from '#gateway/model/canonical-request.ts'
import { type ErrorBody, Refusal, errorBody, refuse } from '#core/errors.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import { placeNow } from '../runs/acting.ts'
import { mismatch } from './answer-schema.ts'
import { AgentAnswer } from './answer.ts'
import { type RunBudgets, budgetsOf, lineageOf } from '../runs/budgets.ts'
import { answerCalls } from './tools/call-tools.ts'
import { claimStore } from '../runs/claim-store.ts'
import { turnOf } from '../messages/history.ts'
import { type Delegate, type Toolset, toolsetOf } from './tools/toolset.ts'
import { messageStore } from '../messages/message-store.ts'
import { type Part, finalText } from '../messages/parts.ts'
import { readFiles } from '../messages/read-files.ts'
import type { PendingAction } from '../runs/run-store.ts'
import { sealRequest } from '../runs/model-requests.ts'
import { type Step, type StepRow, stepStore } from '../runs/step-store.ts'
import { openCalls } from '../messages/tool-calls.ts'
import type { RunEvent } from '../runs/facts.ts'
import type { Claim, Ending } from '../runs/transitions.ts'
import { addUsage } from '#core/usage.ts'
import type { AgentHandles } from './tools/handles.ts'

/** The time that a call may take to leave its provider once it is told to. */
const LEAVE_MS = 2_000

/** Model calls of a run whose agent sets no limit. */
const MOST_TURNS = 50

/** The way that a run leaves its process: at its end, or until a person has decided. */
export type RunExit = Ending | { status: 'requires_action'; pending: PendingAction[]; parts: Part[] }

/** A listener that is told what goes on in a run. */
export interface RunObserver {
  /** Resolves when more may be told. */
  tell(facts: readonly RunEvent[]): Promise<void>
  /** Resolves when what was told is durable. */
  told(): Promise<void>
  /** Hands a task to another agent. */
  delegate: Delegate
}

/**
 * Runs the model on the path that ends with the run's input, telling of the answer as it comes; calls of the agent's
 * tools are answered and the model asked again, until it calls none. Never throws: an error is how it ends.
 * `signal` stops it; what had come by then is kept. `claim` is brought up to date with what is kept of it.
 */
export async function generate(
  engine: Engine<AgentHandles>,
  claim: Claim,
  signal: AbortSignal,
  teller: RunObserver,
): Promise<RunExit> {
  const { run, output } = claim
  const answer = new AgentAnswer(output.id, output.content)
  let startedAt = new Date()
  let completion: Completion | null = null
  let toolset: Toolset | null = null
  /** Every call of the model is kept as a step by now. */
  let kept = output.content.length > 0
  /** The request that the model is being asked, and where its answer begins among the parts. */
  let asked: { request: CanonicalRequest; from: number } | null = null
  const stepOf = async (status: Step['status'], error: ErrorBody['error'] | null): Promise<Step> => {
    const served = completion?.served ?? null
    return {
      kind: 'model',
      name: served?.model ?? run.model,
      status,
      idempotent: true,
      result: served && resultOf(served),
      error,
      cost_nano: served?.cost ?? null,
      started_at: startedAt,
      request:
        asked &&
        (await sealRequest(
          engine,
          { request: asked.request, answer: answer.parts.slice(asked.from), finish_reason: answer.finish },
          run.account_id,
        )),
    }
  }
  const ending = async (status: Ending['status'], error: ErrorBody['error'] | null): Promise<Ending> => {
    const served = completion?.served ?? null
    return {
      status,
      parts: answer.parts,
      model: served?.model ?? run.model,
      provider: served?.provider ?? null,
      finishReason: answer.finish,
      usage: served?.usage ?? null,
      cost: served?.cost ?? null,
      before: claim.output.usage,
      error,
      step: kept ? null : await stepOf(status, error),
    }
  }
  /** A turn of the model is durable before its tools are begun: whoever takes the run over goes on from here. */
  const keep = async (): Promise<void> => {
    // Settled before its step says so: a step without its line in the books would be a cost that nobody paid.
    await Promise.all([teller.told(), engine.ledger.flush()])
    const served = completion?.served ?? null
    const step = await stepOf('completed', null)
    await engine.postgres.db.transaction().execute(async (db) => {
      const { usage = null, cost = null } = served ?? {}
      const now = await claimStore.keep(db, claim.run, { usage: addUsage(claim.run.usage, usage), cost })
      if (!now) throw new Error('another process has the run')
      await stepStore.insert(db, now, step)
      claim.output = await messageStore.keep(db, output.id, {
        content: answer.parts,
        ...(served && { served: { ...served, usage: addUsage(claim.output.usage, usage) } }),
      })
      claim.run = now
    })
    kept = true
    completion = null
  }
  try {
    const [{ principal, agent, said: path, lineage: known }, before] = await Promise.all([
      claim.known ?? askAnew(engine, claim, signal),
      kept ? stepStore.of(engine.postgres.db, run) : [],
    ])
    const read = await readFiles(engine, path, signal)
    let lineage: readonly RunBudgets[] | null = known
    toolset = await toolsetOf(engine, {
      agent,
      principal,
      workspaceId: run.workspace_id,
      lineage: known,
      delegate: teller.delegate,
      signal,
    })
    const settings = settingsOf(toolset, agent)
    await teller.tell(toolset.problems.map((problem) => ({ type: 'mcp_server.error', data: { ...problem } })))
    const most = agent?.max_turns ?? MOST_TURNS
    for (
      let turns = before.filter(({ kind, status }) => kind === 'model' && status === 'completed').length;
      ;
      turns++
    ) {
      // Anew for every turn: a budget that was changed meanwhile holds from then on.
      const budgets = budgetsOf(lineage ?? (await lineageOf(engine.postgres, run.id)))
      lineage = null
      if (!toolset.empty) {
        const pending = await answerCalls({
          engine,
          run: claim.run,
          budgets,
          toolset,
          parts: answer.parts,
          isCut: (answer.finish ?? finishOf(before)) === 'length',
          signal,
          before,
          async tell(facts) {
            await teller.tell(facts)
            await teller.told()
          },
        })
        if (pending.length > 0) return { status: 'requires_action', pending, parts: answer.parts }
      }
      if (turns >= most)
        refuse('limit_reached', {
          message: `The agent reached its limit of ${most} model calls without finishing.`,
          details: { limit: most },
        })
      answer.next()
      startedAt = new Date()
      const said = [...read, { role: 'assistant' as const, content: answer.parts }]
      const turn = { model: run.model, messages: turnOf(agent?.system_prompt ?? null, said), ...settings }
      kept = false
      asked = { request: turn, from: answer.parts.length }
      const payer = payerOf(principal, run.workspace_id, {
        guestOf: await guestOf(engine.postgres.db, principal, run.workspace_id),
        chatId: run.chat_id,
        runId: run.id,
        messageId: output.id,
        budgets,
      })
      completion = engine.completeTurn(principal, turn, { signal, payer, surface: 'chat' })
      for await (const chunk of leaving(completion, signal)) {
        if (chunk.type === 'error') throw refusalOf(chunk.error)
        await teller.tell(answer.add(chunk))
      }
      await teller.tell(answer.end())
      if (toolset.empty || openCalls(answer.parts).length === 0) {
        const wrong = agent?.output_schema ? mismatch(agent.output_schema, finalText(answer.parts)) : null
        if (wrong === null) return await ending('completed', null)
        refuse('provider_error', { message: `The answer doesn’t match the agent’s \`output_schema\`: ${wrong}.` })
      }
      await keep()
    }
  } catch (error) {
    await teller.tell(answer.end())
    if (signal.aborted) return await ending('cancelled', null)
    if (!(error instanceof Refusal)) engine.log.error({ error, run: run.id }, 'a run failed')
    const refusal = error instanceof Refusal ? error : new Refusal('internal_error')
    const failed = await ending('failed', errorBody(refusal).error)
    return refusal.toPayer ? { ...failed, payerError: errorBody(refusal.toPayer).error } : failed
  } finally {
    // Nobody waits for outside servers to see it go.
    void leave(toolset)
  }
}

const leave = async (toolset: Toolset | null): Promise<void> => {
  await toolset?.[Symbol.asyncDispose]()
}

/** A run may have waited for long: what its sender may do, and what it goes on from, is read when it begins. */
async function askAnew(engine: Engine<AgentHandles>, { run }: Claim, signal: AbortSignal) {
  const [ctx, said, lineage] = await Promise.all([
    engine.actAs({
      accountId: run.account_id,
      scopes: run.scopes ?? allScopes,
      workspaceId: run.held_to,
      payingKeyId: run.key_id,
      signal,
    }),
    messageStore.said(engine.postgres, run.input_message_id),
    lineageOf(engine.postgres, run.id),
  ])
  if (ctx === null)
    return refuse('not_found', { message: 'The account or API key that started this run no longer exists.' })
  await placeNow(ctx, run)
  const agent = run.agent_id === null ? null : await agentBehind(ctx, run.agent_id, run.workspace_id)
  if (run.agent_id !== null && agent === null) refuse('not_found', { message: 'The agent of this chat was deleted.' })
  // Asked behind the agent: whoever reads the change reads the pause that came with it.
  const automated = lineage.flatMap(({ automation_run_id }) => automation_run_id ?? [])
  if (automated.length > 0 && (await engine.isPausedByAgent(automated)))
    refuse('invalid_state', {
      message:
        'The automation was paused in the meantime: its agent was changed by someone with fewer permissions, or it was transferred to another account.',
      details: { status: 'paused', allowed: ['unarchive'] },
    })
  return { principal: ctx.principal, agent, said, lineage }
}

/** The settings that an agent adds to every call of its model. */
const settingsOf = (
  { offer }: Toolset,
  agent: AgentRow | null,
): Pick<CanonicalRequest, 'tools' | 'response_format'> => ({
  ...(offer.length > 0 && { tools: [...offer] }),
  ...(agent?.output_schema && {
    response_format: { type: 'json_schema', name: 'answer', schema: agent.output_schema },
  }),
})

/** The reason why the last answer ended that another process has kept. */
const finishOf = (steps: readonly StepRow[]): string | null =>
  (steps.findLast(({ kind }) => kind === 'model')?.result as ReturnType<typeof resultOf> | undefined)?.finish_reason ??
  null

const resultOf = ({ id, model, provider, endpointId, billing, seed, losses, usage, finishReason }: ServedCall) => ({
  call_id: id,
  model,
  provider,
  endpoint_id: endpointId,
  billing,
  seed,
  losses,
  usage,
  finish_reason: finishReason,
})

/** The same items, but when the signal fires it does not wait for long: the source is told to leave, and left. */
async function* leaving<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]()
  const { promise: late, reject } = Promise.withResolvers<never>()
  late.catch(() => {})
  const onAbort = (): void => {
    // Its own end tells what was used, so it gets a moment.
    void sleep(LEAVE_MS, undefined, { ref: false }).then(() => reject(signal.reason as Error))
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), late])
      if (next.done) break
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    iterator.return?.().catch?.(() => {})
  }
}
