import { setTimeout as sleep } from 'node:timers/promises'
import { agentBehind } from '#areas/agents/service.ts'
import type { Engine } from '#engine/context.ts'
import { payerOf } from '#engine/ledger/payer.ts'
import { sharedPlace } from '#engine/shares.ts'
import { type Completion, type Served, refusalOf } from '#gateway/complete.ts'
import { type ErrorBody, Refusal, errorBody, refuse } from '#kernel/errors.ts'
import { checkPlace } from '#kernel/place.ts'
import { membershipIn } from '#kernel/principal.ts'
import { scopes as allScopes } from '#kernel/scopes.ts'
import { Answer, type Fact } from './answer.ts'
import { budgetsOf } from './budgets.ts'
import { goalStore } from './goal-store.ts'
import { turnOf } from './history.ts'
import { messageStore } from './message-store.ts'
import type { Claim, Ending } from './transitions.ts'

/** How long a call may take to leave its provider once it is told to. */
const LEAVE_MS = 2_000

/** What a run tells of while it goes on. `tell` resolves when more may be told. */
export type Tell = (facts: readonly Fact[]) => Promise<void>

/**
 * Runs the model on the path that ends with the run's input, telling of the answer as it comes. Never throws: what goes
 * wrong is how it ends. `signal` stops it; what had come by then is kept.
 */
export async function generate(
  engine: Engine,
  { run, output }: Claim,
  signal: AbortSignal,
  tell: Tell,
): Promise<Ending> {
  const startedAt = new Date()
  const answer = new Answer(output.id)
  let completion: Completion | null = null
  const ending = (status: Ending['status'], error: ErrorBody['error'] | null): Ending => {
    const served = completion?.served ?? null
    return {
      status,
      parts: answer.parts,
      model: served?.model ?? run.model,
      provider: served?.provider ?? null,
      finishReason: answer.finish,
      usage: served?.usage ?? null,
      cost: served?.cost ?? null,
      error,
      step: {
        kind: 'model',
        name: served?.model ?? run.model,
        status,
        idempotent: true,
        result: served && resultOf(served),
        error,
        cost_nano: served?.cost ?? null,
        started_at: startedAt,
      },
    }
  }
  try {
    const [ctx, path] = await Promise.all([
      engine.actAs({
        accountId: run.account_id,
        scopes: run.scopes ?? allScopes,
        workspaceId: run.held_to,
        payingKeyId: run.key_id,
        signal,
      }),
      messageStore.said(engine.postgres, run.input_message_id),
    ])
    if (ctx === null)
      return refuse('not_found', { message: 'Who asked is gone: the account, or the key that it asked with.' })
    // A run may have waited for long: what its sender may do is decided when it begins.
    const place =
      membershipIn(ctx.principal, run.workspace_id) ??
      (await sharedPlace(ctx.db, ctx.principal, 'chat', { id: run.chat_id, workspace_id: run.workspace_id }))
    if (place === null)
      return refuse('insufficient_role', {
        message: 'Who asked is no longer in this workspace, and the chat is not shared with them.',
      })
    checkPlace(place, 'chat:run')
    const agent = run.agent_id === null ? null : await agentBehind(ctx, run.agent_id, run.workspace_id)
    if (run.agent_id !== null && agent === null) refuse('not_found', { message: 'The agent of this chat is gone.' })
    const goal = run.goal_id === null ? null : await goalStore.get(engine.postgres.db, run.goal_id)
    const payer = payerOf(ctx.principal, run.workspace_id, {
      chatId: run.chat_id,
      runId: run.id,
      messageId: output.id,
      budgets: budgetsOf(run, goal),
    })
    const turn = { model: run.model, messages: turnOf(agent?.system_prompt ?? null, path) }
    completion = engine.completeTurn(ctx.principal, turn, { signal, payer, surface: 'chat' })
    for await (const chunk of leaving(completion, signal)) {
      if (chunk.type === 'error') throw refusalOf(chunk.error)
      await tell(answer.add(chunk))
    }
    await tell(answer.end())
    return ending('completed', null)
  } catch (error) {
    await tell(answer.end())
    if (signal.aborted) return ending('cancelled', null)
    if (!(error instanceof Refusal)) engine.log.error({ error, run: run.id }, 'a run failed')
    return ending('failed', errorBody(error instanceof Refusal ? error : new Refusal('internal_error')).error)
  }
}

const resultOf = ({ id, model, provider, endpointId, billing, seed, losses, usage, finishReason }: Served) => ({
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
