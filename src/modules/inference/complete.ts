import type { HasEndpoints } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import type { Completion, ServedCall } from '#gateway/call/complete.ts'
import type { GatewayFaces } from '#gateway/mount.ts'
import type { Chunk, CanonicalRequest } from '#gateway/model/canonical-request.ts'
import { lossesHeader } from '#gateway/translation/losses-header.ts'
import { noSuchModel, visibleModels } from '#gateway/routing/model-names/unknown-model.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, actingIn } from '#core/principal.ts'

export interface InferenceHandles extends HasEndpoints, Pick<GatewayFaces, 'completeTurn'> {}

/** A started call. Its first chunk arrived, so it can no longer be rejected. */
export interface StartedCall extends AsyncDisposable {
  served(): ServedCall
  chunks: AsyncIterable<Chunk>
}

/**
 * Calls the model and waits for the first chunk, or for the last if the response isn't streamed. Throws the errors
 * of `completeTurn`.
 */
export async function startCall(
  ctx: Context<InferenceHandles>,
  turn: CanonicalRequest,
  id: Id,
  workspaceId: Id,
  { signal, whole }: { signal: AbortSignal; whole: boolean },
): Promise<StartedCall> {
  const acting = await callerFor(ctx, turn.model, workspaceId)
  const completion: Completion = ctx.engine.completeTurn(acting, turn, {
    id,
    signal,
    payer: payerOf(ctx.principal, workspaceId),
    surface: 'inference',
    whole,
  })
  const iterator = completion[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done || completion.served === null)
    return refuse('provider_error', { message: 'The provider returned an empty response.' })
  const { provider, seed, losses } = completion.served
  ctx.answer.headers['x-uk-route'] = `provider=${provider}; seed=${seed}`
  if (losses.length > 0) ctx.answer.headers['x-uk-losses'] = lossesHeader(losses)
  return {
    served: () => completion.served!,
    chunks: {
      async *[Symbol.asyncIterator]() {
        yield first.value
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
      },
    },
    async [Symbol.asyncDispose]() {
      await iterator.return?.(undefined)
    },
  }
}

/** Rejects a call that `startCall` would reject before contacting a provider, including for lack of credits. */
export async function checkCall(
  ctx: Context<InferenceHandles>,
  turn: CanonicalRequest,
  workspaceId: Id,
): Promise<void> {
  const { engine, principal, signal } = ctx
  const acting = await callerFor(ctx, turn.model, workspaceId)
  const payer = payerOf(principal, workspaceId)
  await engine.completeTurn(acting, turn, { signal, payer, surface: 'inference', whole: true }).check()
}

/** Returns the caller for the model. Throws `not_found` for an unavailable model and suggests a similar name. */
export async function callerFor(
  { engine, principal }: Context<HasEndpoints>,
  model: string,
  workspaceId: Id,
): Promise<Principal> {
  const { endpoints } = engine
  const acting = actingIn(principal, workspaceId)
  if ((await endpoints.offers(acting, model)).length > 0) return acting
  const told = await visibleModels(endpoints, principal, acting)
  return refuse('not_found', { param: 'model', message: noSuchModel(model, told) })
}
