import { type MediaHandles, mediaHandlers } from '#modules/media/service.ts'
import { defineOperation, startOperation } from '#modules/operations/service.ts'
import type { Context } from '#infra/context.ts'
import { lossesHeader } from '#gateway/translation/losses-header.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { eventsSoon } from '#infra/late-events.ts'
import { type Id, newId } from '#core/ids.ts'
import { InferenceAnswer, type Completed, type Part } from './answer.ts'
import { type InferenceHandles, checkCall, startCall } from './complete.ts'
import { inference } from './contract.ts'
import { failedStart, streamEvents } from './stream-events.ts'
import { type TextInput, turnOf } from './turn.ts'

/** `POST /inference/text` in the background. Not repeatable, since the provider has been paid. */
export const textOperation = defineOperation<TextInput & { workspaceId: Id }, InferenceHandles>(
  'inference.text',
  async (ctx, { workspaceId, ...ask }, { signal }) => {
    const { completed, cost } = await complete(ctx, ask, workspaceId, signal)
    const result = { ...completed, text: storable(completed.text), content: completed.content.map(storablePart) }
    return {
      result: {
        ...result,
        tool_calls: result.content.flatMap((part) => (part.type === 'tool_call' ? [callOf(part)] : [])),
      },
      content: { type: 'text/plain; charset=utf-8', text: result.text },
      cost,
    }
  },
  { scope: 'inference:run' },
)

export type { InferenceHandles } from './complete.ts'

export const inferenceService = implementWith<Context<InferenceHandles & MediaHandles>>()(inference, {
  async text(ctx, input) {
    const { background, workspace_id: _, ...ask } = input
    const workspaceId = ctx.workspace!.id
    const { credential } = ctx.principal
    // An operation outlives the run and wouldn't count toward its budgets.
    if (background && credential.kind === 'server' && credential.run !== undefined)
      refuse('invalid_parameter', { param: 'background', message: '`background` isn’t available within a run.' })
    if (!background) return (await complete(ctx, ask, workspaceId, ctx.signal)).completed
    await checkCall(ctx, turnOf(ask), workspaceId)
    return startOperation(ctx, textOperation, { ...ask, workspaceId }, { workspaceId })
  },

  async text_stream(ctx, input) {
    const { workspace_id: _, ...ask } = input
    const answer = new InferenceAnswer(newId(), ctx.now())
    const started = startCall(ctx, turnOf(ask), answer.id, ctx.workspace!.id, { signal: ctx.signal, whole: false })
    return eventsSoon(
      started,
      ctx.engine.headMs,
      (call) => streamEvents(ctx, answer, call),
      (error) => failedStart(ctx, answer, ask.model, error),
    )
  },

  ...mediaHandlers,
})

async function complete(
  ctx: Context<InferenceHandles>,
  ask: TextInput,
  workspaceId: Id,
  signal: AbortSignal,
): Promise<{ completed: Completed; cost: bigint | null }> {
  const answer = new InferenceAnswer(newId(), ctx.now())
  await using call = await startCall(ctx, turnOf(ask), answer.id, workspaceId, { signal, whole: true })
  for await (const chunk of call.chunks) answer.add(chunk)
  const completed = answer.shown(call.served())
  if (completed.losses.length > 0) ctx.answer.headers['x-uk-losses'] = lossesHeader(completed.losses)
  return { completed, cost: call.served().cost }
}

/** PostgreSQL's JSON accepts neither NUL characters nor lone surrogates. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()
const storablePart = (part: Part): Part =>
  part.type === 'tool_call'
    ? { ...part, name: storable(part.name), arguments: storable(part.arguments) }
    : { ...part, text: storable(part.text) }
const callOf = ({ id, name, arguments: words }: Extract<Part, { type: 'tool_call' }>) => ({
  id,
  name,
  arguments: words,
})
