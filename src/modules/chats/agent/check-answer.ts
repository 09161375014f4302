import { guestOf } from '#authz/shares.ts'
import type { Context } from '#infra/context.ts'
import { payerOf } from '#infra/ledger/payer.ts'
import { Refusal } from '#core/errors.ts'
import type { ChatRow } from '../store.ts'
import { answererOf } from './choose-model.ts'
import type { AgentHandles } from './tools/handles.ts'

/**
 * Rejects a background message early if it can't be paid for or violates a policy. Checks only the new message; the run
 * reserves the cost of the whole conversation.
 */
export async function checkAnswer(
  ctx: Context<AgentHandles>,
  chat: ChatRow,
  { model: named, text }: { model: string | undefined; text: string },
): Promise<void> {
  const { engine, principal, signal, db } = ctx
  const { model } = await answererOf(ctx, chat, named)
  const guest = await guestOf(db, principal, chat.workspace_id)
  const payer = payerOf(principal, chat.workspace_id, { guestOf: guest, chatId: chat.id })
  const turn = { model, messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }] }
  try {
    await engine.completeTurn(principal, turn, { signal, payer, surface: 'chat' }).check()
  } catch (error) {
    // Other errors may be gone when the run starts, and it reports them.
    if (!(error instanceof Refusal) || error.status === 402 || error.code === 'policy_denied') throw error
  }
}
