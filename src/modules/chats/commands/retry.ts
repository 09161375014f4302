import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { behalfOf } from '#core/principal.ts'
import { answererOf } from '../agent/choose-model.ts'
import { lockActiveChat } from '../lock.ts'
import { type Parent, messageStore } from '../messages/message-store.ts'
import { type RunRow, allowedMoves, runStore } from '../runs/run-store.ts'
import { claim, runEvent } from '../runs/transitions.ts'
import { type ChatRow, chatStore } from '../store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { createAnswer, beginOrWake } from './new-run.ts'

/**
 * Starts a new attempt of a failed run. Its answer is a sibling of the failed one.
 * Uses the model named here, else the message's, else the chat's current model.
 */
export async function retry(outer: Context<ChatHandles>, chat: ChatRow, runId: Id, named?: string): Promise<RunRow> {
  const { engine } = outer
  const { run: failedAttempt } = await failedRun(outer, chat.id, runId)
  const { model } = await answererOf(outer, chat, named ?? failedAttempt.named_model ?? undefined)
  const { runs } = engine
  const result = await outer.transaction(async (ctx) => {
    const locked = await lockActiveChat(ctx, chat.id)
    const { run: previousRun, input } = await failedRun(ctx, locked.id, runId)
    const busy = await runStore.unfinished(ctx.db, locked.id)
    const output = createAnswer(
      locked,
      { id: previousRun.input_message_id, ...input },
      previousRun.id,
      locked.last_seq + 1,
      ctx.now(),
    )
    await messageStore.insert(ctx.db, [output])
    const waits = busy.length > 0 ? 'chat_busy' : runs.draining ? 'restarted' : null
    const queued = (await runStore.requeue(ctx.db, previousRun.id, output.id, waits, {
      ...behalfOf(ctx.principal),
      model,
    }))!
    await chatStore.grow(ctx.db, locked.id, { head: output.id, lastSeq: output.seq, at: ctx.now(), title: null })
    await ctx.emit(runEvent(queued, 'queued'))
    const claimed = waits !== null ? null : await claim(ctx.db, queued.id, engine.processId)
    return { run: claimed?.run ?? queued, claim: claimed }
  })
  beginOrWake(outer, result.claim)
  return result.run
}

async function failedRun({ db }: Context, chatId: Id, runId: Id): Promise<{ run: RunRow; input: Parent }> {
  const run = await runStore.get(db, chatId, runId)
  if (!run) return refuse('not_found', { param: 'run_id', message: 'The run doesn’t exist in this chat.' })
  const input = await messageStore.parent(db, chatId, run.input_message_id)
  if (run.status !== 'failed' || !input)
    return refuse('invalid_state', {
      message: `Only failed runs can be retried. The status of this run is ${run.status}.`,
      details: { status: run.status, allowed: allowedMoves(run) },
    })
  return { run, input }
}
