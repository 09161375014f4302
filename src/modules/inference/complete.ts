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

/** Handles that calls of models use. */
export interface InferenceHandles extends HasEndpoints, Pick<GatewayFaces, 'completeTurn'> {}

/** A call that has begun: its first chunk is there, so what can be refused has been refused. */
export interface StartedCall extends AsyncDisposable {
  served(): ServedCall
  chunks: AsyncIterable<Chunk>
}

/** Calls the model and waits for its first word, or where it is wanted whole for its last. Refuses as `completeTurn` does. */
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

/** Refuses a call for which `startCall` would be refused before a provider is asked, money included. */
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

/**
 * The caller in whose name the model is asked. Refuses (`not_found`) a model that nobody serves, and names the one that
 * may have been meant.
 */
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
