import { agentFor } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import { touchResource } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { nanoOrNull } from '#core/money.ts'
import { membershipIn } from '#core/principal.ts'
import { messageStore } from '../messages/message-store.ts'
import { type ChatRow, chatStore } from '../store.ts'
import { keepChat } from '../temporary/temporary.ts'
import type { ChatHandles } from '../worker/runs.ts'

export interface ChatChanges {
  title?: string | undefined
  agent_id?: Id | null | undefined
  model?: string | null | undefined
  max_cost_usd?: number | null | undefined
  head_message_id?: Id | undefined
  temporary?: false | undefined
}

export async function changeChat(
  outer: Context<ChatHandles>,
  chat: ChatRow,
  { title, agent_id, model, max_cost_usd, head_message_id, temporary }: ChatChanges,
): Promise<ChatRow> {
  const { id } = chat
  if (max_cost_usd !== undefined && membershipIn(outer.principal, chat.workspace_id) === null)
    refuse('insufficient_role', {
      param: 'max_cost_usd',
      message: 'This chat is shared with you. Only members of its workspace can set its budget.',
    })
  if (agent_id) await agentFor(outer, agent_id)
  return outer.transaction(async (ctx) => {
    const register = await touchResource(ctx, 'chat', id)
    if (head_message_id !== undefined && !(await messageStore.get(ctx.db, id, head_message_id)))
      refuse('not_found', { param: 'head_message_id', message: 'The message doesn’t exist in this chat.' })
    await chatStore.update(ctx.db, id, {
      ...(title !== undefined && { title, title_source: 'user' }),
      ...(agent_id !== undefined && { agent_id }),
      ...(model !== undefined && { model }),
      ...(max_cost_usd !== undefined && { max_cost_nano: nanoOrNull(max_cost_usd) }),
      ...(head_message_id !== undefined && { head_message_id }),
    })
    if (agent_id !== undefined) await ctx.engine.chatChanged(ctx, id)
    const was = (await chatStore.get(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
    await emitChatEvent(ctx, register, 'updated')
    if (temporary === undefined || !was.temporary) return was
    // The chat is new to the workspace and to search.
    for (const one of [id, ...(await keepChat(ctx.db, id))])
      await emitChatEvent(ctx, { ...register, id: one }, 'created')
    return { ...was, temporary: false }
  })
}

export const emitChatEvent = (
  ctx: Context,
  { id, workspace_id, status }: Pick<ChatRow, 'id' | 'workspace_id' | 'status'>,
  verb: 'created' | 'updated',
) =>
  ctx.emit({
    type: `chat.${verb}`,
    channels: [`chat:${id}`, `workspace:${workspace_id}`],
    resource: { type: 'chat', id },
    data: { id, workspace_id, status },
  })
