import type { Context } from '#infra/context.ts'
import { refusalOf } from '#gateway/model/refusal.ts'
import { type Event, eventsOf } from '#core/answers.ts'
import { type ErrorBody, Refusal, errorBody } from '#core/errors.ts'
import { iso } from '#core/time.ts'
import type { InferenceAnswer, StreamEvent } from './answer.ts'
import type { StartedCall } from './complete.ts'

/**
 * Numbered events of a stream (contract, part 6). Ends silently if the caller disconnects, and with the reason if
 * it loses permission or the server stops.
 */
export const streamEvents = (ctx: Context, answer: InferenceAnswer, call: StartedCall): AsyncIterable<Event> =>
  eventsOf(call, tell(ctx, answer, call))

async function* tell(ctx: Context, answer: InferenceAnswer, call: StartedCall): AsyncGenerator<Event, void, undefined> {
  let seq = 0
  const numbered = ({ event, data }: StreamEvent): Event => ({
    id: String(++seq),
    event,
    data: { seq, run_id: answer.id, at: iso(ctx.now()), ...data },
  })
  await using ending = call
  yield numbered({ event: 'run.started', data: { run: run(answer, call, 'running', null) } })
  yield numbered({ event: 'message.started', data: { message: message(answer, call, 'in_progress') } })
  let error: ErrorBody['error'] | null = null
  try {
    for await (const chunk of ending.chunks) {
      for (const told of answer.add(chunk)) yield numbered(told)
      if (chunk.type === 'error') error = errorBody(refusalOf(chunk.error)).error
    }
  } catch (thrown) {
    const reason: unknown = ctx.signal.aborted ? ctx.signal.reason : null
    if (ctx.signal.aborted && !(reason instanceof Refusal)) return
    error = errorBody(reason instanceof Refusal ? reason : why(ctx, thrown)).error
  }
  if (error === null)
    yield numbered({ event: 'message.completed', data: { message: message(answer, call, 'completed') } })
  const { usage, cost_usd } = answer.shown(call.served())
  if (usage !== null) yield numbered({ event: 'usage', data: { usage, cost_usd } })
  yield error === null
    ? numbered({ event: 'run.completed', data: { run: run(answer, call, 'completed', null) } })
    : numbered({ event: 'run.failed', data: { run: run(answer, call, 'failed', error), error } })
}

/** The only event of a run that failed after its stream's headers were sent. Null: the caller disconnected. */
export function failedStart(
  ctx: Context,
  { id, createdAt }: InferenceAnswer,
  model: string,
  thrown: unknown,
): Event | null {
  if (ctx.signal.aborted && !(ctx.signal.reason instanceof Refusal)) return null
  const { error } = errorBody(why(ctx, thrown))
  const untold = { finish_reason: null, usage: null, cost_usd: null }
  const failed = { id, created_at: createdAt, status: 'failed', model, provider: '', ...untold, error }
  return { id: '1', event: 'run.failed', data: { seq: 1, run_id: id, at: iso(ctx.now()), run: failed, error } }
}

function why(ctx: Context, thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown
  ctx.log.error({ error: thrown, request_id: ctx.requestId }, 'a stream of a model broke off')
  return new Refusal('internal_error')
}

const message = (answer: InferenceAnswer, call: StartedCall, status: 'in_progress' | 'completed') => ({
  ...answer.shown(call.served()),
  run_id: answer.id,
  role: 'assistant',
  status,
})

function run(
  answer: InferenceAnswer,
  call: StartedCall,
  status: 'running' | 'completed' | 'failed',
  error: ErrorBody['error'] | null,
) {
  const { id, created_at, model, provider, finish_reason, usage, cost_usd } = answer.shown(call.served())
  return { id, created_at, status, model, provider, finish_reason, usage, cost_usd, error }
}
