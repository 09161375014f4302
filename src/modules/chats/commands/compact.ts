import { agentFor } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import { guestOf } from '#authz/shares.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { AgentAnswer } from '../agent/answer.ts'
import { chatBudget } from '../runs/budgets.ts'
import { chooseModel } from '../agent/choose-model.ts'
import { lockActiveChat } from '../lock.ts'
import { turnOf } from '../messages/history.ts'
import { messageStore } from '../messages/message-store.ts'
import { readFiles } from '../messages/read-files.ts'
import { showMessage } from '../messages/show.ts'
import { runStore } from '../runs/run-store.ts'
import { type ChatRow, chatStore } from '../store.ts'
import { messageEvent } from '../runs/transitions.ts'
import type { ChatHandles } from '../worker/runs.ts'

const INSTRUCTION = `Summarize the conversation above so that it can continue from your summary alone. Keep the goals, what was
decided and why, facts, names, figures, file names and open questions. Leave out pleasantries and digressions. Write in
the language of the conversation. Output only the summary.`

/**
 * Starts a new branch from a model's summary of the active one, which is kept. The call's cost is on the summary
 * message.
 */
export async function compact(outer: Context<ChatHandles>, chat: ChatRow, model: string | undefined) {
  const { engine, principal } = outer
  const head = chat.head_message_id
  if (head === null)
    return refuse('invalid_state', {
      message: 'This chat is empty, so there is nothing to compact.',
      details: { status: 'empty', allowed: ['send'] },
    })
  await outer.transaction((ctx) => lockActiveChat(ctx, chat.id))
  await checkIdle(outer, chat)
  const agent = chat.agent_id === null ? null : await agentFor(outer, chat.agent_id).catch(() => null)
  const chosenModel = await chooseModel(outer, [model, chat.model, agent?.model], chat.workspace_id)
  const path = await messageStore.said(engine.postgres, head)
  const id = newId()
  const payer = payerOf(principal, chat.workspace_id, {
    guestOf: await guestOf(engine.postgres.db, principal, chat.workspace_id),
    chatId: chat.id,
    messageId: id,
    budgets: [chatBudget(chat.id, chat.max_cost_nano)],
  })
  const messages = [
    ...turnOf(null, await readFiles(engine, path, outer.signal)),
    { role: 'user' as const, content: [{ type: 'text' as const, text: INSTRUCTION }] },
  ]
  const answer = new AgentAnswer(id)
  const completion = engine.completeTurn(
    principal,
    { model: chosenModel, messages },
    { signal: outer.signal, payer, surface: 'chat', whole: true },
  )
  for await (const chunk of completion) answer.add(chunk)
  answer.end()
  const summary = answer.parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim()
  if (summary === '') refuse('provider_error', { message: 'The model returned no summary.' })
  const { served } = completion
  const row = await outer.transaction(async (ctx) => {
    const locked = await lockActiveChat(ctx, chat.id)
    await checkIdle(ctx, chat)
    if (locked.head_message_id !== head)
      refuse('stale_update', {
        message: 'The chat changed while it was being summarized. Try again.',
        details: { head_message_id: locked.head_message_id },
      })
    const at = ctx.now()
    const row = {
      id,
      chat_id: chat.id,
      parent_id: null,
      line_id: id,
      depth: 0,
      seq: locked.last_seq + 1,
      run_id: null,
      role: 'user' as const,
      status: 'completed' as const,
      content: [{ type: 'compaction' as const, summary, until_message_id: head }],
      text: '',
      model: served?.model ?? chosenModel,
      provider: served?.provider ?? null,
      finish_reason: answer.finish,
      usage: served?.usage ?? null,
      cost_nano: served?.cost ?? null,
      created_by: principal.accountId,
      created_at: at,
      updated_at: at,
    }
    await messageStore.insert(ctx.db, [row])
    await chatStore.grow(ctx.db, chat.id, { head: id, lastSeq: row.seq, at, title: null })
    await ctx.emit(messageEvent(row, chat.workspace_id, 'created'))
    return row
  })
  return showMessage(row)
}

async function checkIdle({ db }: Pick<Context, 'db'>, chat: ChatRow): Promise<void> {
  const [busy] = await runStore.unfinished(db, chat.id)
  if (busy) refuse('chat_busy', { details: { run_id: busy.id, status: busy.status } })
}
