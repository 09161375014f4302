import type { AgentRow } from '#modules/agents/service.ts'
import type { Engine } from '#infra/context.ts'
import { guestOf } from '#authz/shares.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import type { Completion, ServedCall } from '#gateway/call/complete.ts'
import { refusalOf } from '#gateway/model/refusal.ts'
import type { CanonicalRequest } from '#gateway/model/canonical-request.ts'
import { type ErrorBody, Refusal, errorBody, refuse } from '#core/errors.ts'
import type { Budget } from '#core/money.ts'
import type { Principal } from '#core/principal.ts'
import { mismatch } from './answer-schema.ts'
import { AgentAnswer } from './answer.ts'
import { type RunContext, loadContext } from './run-context.ts'
import { type RunBudgets, budgetsOf, lineageOf } from '../runs/budgets.ts'
import { leaving } from './leaving.ts'
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

/** Model calls of a run whose agent sets no limit. */
const MAX_TURNS = 50

/** How a run leaves its process: at its end, or until someone decides on its tool calls. */
export type RunExit = Ending | { status: 'requires_action'; pending: PendingAction[]; parts: Part[] }

export interface RunObserver {
  /** Resolves when the observer can take more. */
  tell(facts: readonly RunEvent[]): Promise<void>
  /** Resolves when all events are durable. */
  told(): Promise<void>
  /** Hands a task to another agent. */
  delegate: Delegate
}

/**
 * Runs the model over the branch that ends at the run's input message and streams the answer to `observer`. Executes
 * the agent's tool calls and calls the model again until it calls no tools. Never throws: errors end the run.
 * If `signal` fires, the answer so far is kept. Updates `claim` after each turn.
 */
export const generate = (
  engine: Engine<AgentHandles>,
  claim: Claim,
  signal: AbortSignal,
  observer: RunObserver,
): Promise<RunExit> => new Generation(engine, claim, signal, observer).run()

class Generation {
  readonly #engine: Engine<AgentHandles>
  readonly #claim: Claim
  readonly #signal: AbortSignal
  readonly #observer: RunObserver
  readonly #answer: AgentAnswer
  #startedAt = new Date()
  #completion: Completion | null = null
  #toolset: Toolset | null = null
  /** Whether the last model call is saved as a step. */
  #isSaved: boolean
  /** The current model request, and where its answer starts among the parts. */
  #request: { content: CanonicalRequest; firstPart: number } | null = null

  constructor(engine: Engine<AgentHandles>, claim: Claim, signal: AbortSignal, observer: RunObserver) {
    this.#engine = engine
    this.#claim = claim
    this.#signal = signal
    this.#observer = observer
    this.#answer = new AgentAnswer(claim.output.id, claim.output.content)
    this.#isSaved = claim.output.content.length > 0
  }

  async run(): Promise<RunExit> {
    try {
      return await this.#takeTurns()
    } catch (error) {
      await this.#observer.tell(this.#answer.end())
      if (this.#signal.aborted) return await this.#ending('cancelled', null)
      if (!(error instanceof Refusal)) this.#engine.log.error({ error, run: this.#claim.run.id }, 'a run failed')
      const refusal = error instanceof Refusal ? error : new Refusal('internal_error')
      const failed = await this.#ending('failed', errorBody(refusal).error)
      return refusal.toPayer ? { ...failed, payerError: errorBody(refusal.toPayer).error } : failed
    } finally {
      // Not awaited: closing connections to MCP servers may take long.
      void leave(this.#toolset)
    }
  }

  async #takeTurns(): Promise<RunExit> {
    const { run } = this.#claim
    const [context, earlierSteps] = await Promise.all([
      this.#claim.known ?? loadContext(this.#engine, this.#claim, this.#signal),
      this.#isSaved ? stepStore.of(this.#engine.postgres.db, run) : [],
    ])
    const { principal, agent } = context
    const messages = await readFiles(this.#engine, context.said, this.#signal)
    const toolset = await this.#openTools(context)
    const maxTurns = agent?.max_turns ?? MAX_TURNS
    let lineage: readonly RunBudgets[] | null = context.lineage
    let turns = earlierSteps.filter(({ kind, status }) => kind === 'model' && status === 'completed').length
    for (; ; turns++) {
      // Read for every turn, so that changed budgets apply from the next turn on.
      const budgets = budgetsOf(lineage ?? (await lineageOf(this.#engine.postgres, run.id)))
      lineage = null
      const pending = toolset.empty ? [] : await this.#callTools(toolset, budgets, earlierSteps)
      if (pending.length > 0) return { status: 'requires_action', pending, parts: this.#answer.parts }
      if (turns >= maxTurns)
        refuse('limit_reached', {
          message: `The agent reached its limit of ${maxTurns} model calls without finishing.`,
          details: { limit: maxTurns },
        })
      await this.#callModel(principal, budgets, {
        model: run.model,
        messages: turnOf(agent?.system_prompt ?? null, [
          ...messages,
          { role: 'assistant' as const, content: this.#answer.parts },
        ]),
        ...settingsOf(toolset, agent),
      })
      if (toolset.empty || openCalls(this.#answer.parts).length === 0) {
        checkSchema(agent, this.#answer.parts)
        return await this.#ending('completed', null)
      }
      await this.#saveTurn()
    }
  }

  async #openTools({ principal, agent, lineage }: RunContext): Promise<Toolset> {
    const toolset = await toolsetOf(this.#engine, {
      agent,
      principal,
      workspaceId: this.#claim.run.workspace_id,
      lineage,
      delegate: this.#observer.delegate,
      signal: this.#signal,
    })
    this.#toolset = toolset
    await this.#observer.tell(toolset.problems.map((problem) => ({ type: 'mcp_server.error', data: { ...problem } })))
    return toolset
  }

  /** Executes open tool calls. Returns those that someone has to approve first. */
  #callTools(toolset: Toolset, budgets: readonly Budget[], earlierSteps: readonly StepRow[]): Promise<PendingAction[]> {
    return answerCalls({
      engine: this.#engine,
      run: this.#claim.run,
      budgets,
      toolset,
      parts: this.#answer.parts,
      isCut: (this.#answer.finish ?? finishOf(earlierSteps)) === 'length',
      signal: this.#signal,
      before: earlierSteps,
      tell: async (facts) => {
        await this.#observer.tell(facts)
        await this.#observer.told()
      },
    })
  }

  async #callModel(principal: Principal, budgets: readonly Budget[], request: CanonicalRequest): Promise<void> {
    const { run, output } = this.#claim
    this.#answer.next()
    this.#startedAt = new Date()
    this.#isSaved = false
    this.#request = { content: request, firstPart: this.#answer.parts.length }
    const payer = payerOf(principal, run.workspace_id, {
      guestOf: await guestOf(this.#engine.postgres.db, principal, run.workspace_id),
      chatId: run.chat_id,
      runId: run.id,
      messageId: output.id,
      budgets,
    })
    this.#completion = this.#engine.completeTurn(principal, request, { signal: this.#signal, payer, surface: 'chat' })
    for await (const chunk of leaving(this.#completion, this.#signal)) {
      if (chunk.type === 'error') throw refusalOf(chunk.error)
      await this.#observer.tell(this.#answer.add(chunk))
    }
    await this.#observer.tell(this.#answer.end())
  }

  /** Saves a model turn before its tools run, so that another process can continue the run from here. */
  async #saveTurn(): Promise<void> {
    // The ledger is written before the step, so that every step's cost was charged.
    await Promise.all([this.#observer.told(), this.#engine.ledger.flush()])
    const served = this.#completion?.served ?? null
    const step = await this.#stepOf('completed', null)
    const claim = this.#claim
    await this.#engine.postgres.db.transaction().execute(async (db) => {
      const { usage = null, cost = null } = served ?? {}
      const run = await claimStore.keep(db, claim.run, { usage: addUsage(claim.run.usage, usage), cost })
      if (!run) throw new Error('another process has the run')
      await stepStore.insert(db, run, step)
      claim.output = await messageStore.keep(db, claim.output.id, {
        content: this.#answer.parts,
        ...(served && { served: { ...served, usage: addUsage(claim.output.usage, usage) } }),
      })
      claim.run = run
    })
    this.#isSaved = true
    this.#completion = null
  }

  async #stepOf(status: Step['status'], error: ErrorBody['error'] | null): Promise<Step> {
    const { run } = this.#claim
    const served = this.#completion?.served ?? null
    return {
      kind: 'model',
      name: served?.model ?? run.model,
      status,
      idempotent: true,
      result: served && resultOf(served),
      error,
      cost_nano: served?.cost ?? null,
      started_at: this.#startedAt,
      request: this.#request && (await this.#sealedRequest(this.#request)),
    }
  }

  #sealedRequest({ content, firstPart }: { content: CanonicalRequest; firstPart: number }) {
    const answer = this.#answer.parts.slice(firstPart)
    return sealRequest(
      this.#engine,
      { request: content, answer, finish_reason: this.#answer.finish },
      this.#claim.run.account_id,
    )
  }

  async #ending(status: Ending['status'], error: ErrorBody['error'] | null): Promise<Ending> {
    const served = this.#completion?.served ?? null
    return {
      status,
      parts: this.#answer.parts,
      model: served?.model ?? this.#claim.run.model,
      provider: served?.provider ?? null,
      finishReason: this.#answer.finish,
      usage: served?.usage ?? null,
      cost: served?.cost ?? null,
      before: this.#claim.output.usage,
      error,
      step: this.#isSaved ? null : await this.#stepOf(status, error),
    }
  }
}

function checkSchema(agent: AgentRow | null, parts: Part[]): void {
  const problem = agent?.output_schema ? mismatch(agent.output_schema, finalText(parts)) : null
  if (problem !== null)
    refuse('provider_error', { message: `The answer doesn’t match the agent’s \`output_schema\`: ${problem}.` })
}

const leave = async (toolset: Toolset | null): Promise<void> => {
  await toolset?.[Symbol.asyncDispose]()
}

const settingsOf = (
  { offer }: Toolset,
  agent: AgentRow | null,
): Pick<CanonicalRequest, 'tools' | 'response_format'> => ({
  ...(offer.length > 0 && { tools: [...offer] }),
  ...(agent?.output_schema && {
    response_format: { type: 'json_schema', name: 'answer', schema: agent.output_schema },
  }),
})

/** Why the last answer that another process saved ended. */
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
