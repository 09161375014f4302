import { agentFor } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import { checkTarget, insertResource } from '#authz/resources.ts'
import { absent, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { carryFiles } from '../messages/file-references.ts'
import { messageStore } from '../messages/message-store.ts'
import { showChat } from '../show.ts'
import { type ChatRow, chatStore } from '../store.ts'

/** Maximum messages per copy, to limit how long the chat stays locked. */
const MAX_MESSAGES = 50_000

export interface CopyOptions {
  workspaceId: Id
  agentId?: Id
  /** Last message of the copied branch. Undefined: every branch, or a fork's active branch. */
  upTo: Id | undefined
  kind: 'copy' | 'fork'
}

/**
 * Copies messages into a new chat, without runs and costs: those belong to the source.
 * Read access was checked by `permit`; write access to the target is checked here.
 */
export async function copyChat(outer: Context, source: ChatRow, { workspaceId, agentId, upTo, kind }: CopyOptions) {
  checkTarget(outer, workspaceId, 'chat:write')
  const agent = agentId ?? source.agent_id
  const readable = agent === null ? null : await agentFor(outer, agent).catch(() => null)
  if (agentId !== undefined && readable === null) refuse('not_found', { param: 'agent_id', message: absent('agent') })
  const copiedAgent =
    readable !== null && (agentId !== undefined || readable.workspace_id === workspaceId) ? readable : null
  return outer.transaction(async (ctx) => {
    const lockedChat = (await chatStore.lock(ctx.db, source.id)) ?? refuse('not_found', { param: 'id' })
    if (upTo !== undefined && !(await messageStore.get(ctx.db, source.id, upTo)))
      refuse('not_found', { param: 'message_id', message: 'The message doesn’t exist in this chat.' })
    const end = upTo ?? lockedChat.head_message_id
    const allBranches = kind === 'copy' && upTo === undefined
    const sourceIds =
      end === null
        ? []
        : allBranches
          ? await messageStore.ids(ctx.db, source.id)
          : await messageStore.pathIds(ctx.db, end)
    if (sourceIds.length > MAX_MESSAGES)
      refuse('limit_reached', {
        message: `A copy can have up to ${MAX_MESSAGES} messages.`,
        details: { limit: MAX_MESSAGES },
      })
    const id = newId()
    const register = await insertResource(ctx, { id, kind: 'chat', workspace_id: workspaceId })
    await chatStore.insert(ctx.db, {
      id,
      title: source.title,
      title_source: 'user',
      agent_id: copiedAgent?.id ?? null,
      // If the agent can't come along, the copy uses its model.
      model: source.model ?? (copiedAgent === null ? (readable?.model ?? null) : null),
      ...(kind === 'fork' && { forked_from_chat_id: source.id, forked_from_message_id: end }),
    })
    if (end !== null) {
      const newIds = sourceIds.map(() => newId())
      await messageStore.copy(ctx.db, id, sourceIds, newIds, allBranches)
      if (workspaceId !== source.workspace_id) await carryFiles(ctx, id, workspaceId)
      await chatStore.grow(ctx.db, id, {
        head: newIds[sourceIds.indexOf(end)]!,
        lastSeq: sourceIds.length,
        at: ctx.now(),
        title: null,
      })
    }
    await ctx.emit({
      type: 'chat.created',
      channels: [`chat:${id}`, `workspace:${workspaceId}`],
      resource: { type: 'chat', id },
      data: { id, workspace_id: workspaceId, status: register.status },
    })
    return showChat((await chatStore.get(ctx.db, id))!)
  })
}
