import { agentFor } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import { checkTarget, insertResource } from '#authz/resources.ts'
import { absent, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { carryFiles } from '../messages/attachments.ts'
import { messageStore } from '../messages/message-store.ts'
import { showChat } from '../show.ts'
import { type ChatRow, chatStore } from '../store.ts'

/** Messages of one copy. More would hold the chat for too long. */
const MOST = 50_000

export interface Copied {
  workspaceId: Id
  /** Undefined: the chat's own, where it lives in the workspace that the copy goes to. */
  agentId?: Id
  /** The message with which the copied path ends. Undefined: every branch, or the active one of a fork. */
  upTo: Id | undefined
  kind: 'copy' | 'fork'
}

/**
 * A chat of its own with the same messages. They keep their words and lose their runs: what they cost was paid in the
 * chat they come from. Reading there is what `permit` checked; writing where it goes is checked here.
 */
export async function copyChat(outer: Context, source: ChatRow, { workspaceId, agentId, upTo, kind }: Copied) {
  checkTarget(outer, workspaceId, 'chat:write')
  const agent = agentId ?? source.agent_id
  const readable = agent === null ? null : await agentFor(outer, agent).catch(() => null)
  if (agentId !== undefined && readable === null) refuse('not_found', { param: 'agent_id', message: absent('agent') })
  const kept = readable !== null && (agentId !== undefined || readable.workspace_id === workspaceId) ? readable : null
  return outer.transaction(async (ctx) => {
    // Held, so that no branch grows while it is copied.
    const locked = (await chatStore.lock(ctx.db, source.id)) ?? refuse('not_found', { param: 'id' })
    if (upTo !== undefined && !(await messageStore.get(ctx.db, source.id, upTo)))
      refuse('not_found', { param: 'message_id', message: 'The message doesn’t exist in this chat.' })
    const end = upTo ?? locked.head_message_id
    const whole = kind === 'copy' && upTo === undefined
    const old =
      end === null ? [] : whole ? await messageStore.ids(ctx.db, source.id) : await messageStore.pathIds(ctx.db, end)
    if (old.length > MOST)
      refuse('limit_reached', { message: `A copy can have up to ${MOST} messages.`, details: { limit: MOST } })
    const id = newId()
    const register = await insertResource(ctx, { id, kind: 'chat', workspace_id: workspaceId })
    await chatStore.insert(ctx.db, {
      id,
      title: source.title,
      title_source: 'user',
      agent_id: kept?.id ?? null,
      // An agent that stays behind leaves its model.
      model: source.model ?? (kept === null ? (readable?.model ?? null) : null),
      ...(kind === 'fork' && { forked_from_chat_id: source.id, forked_from_message_id: end }),
    })
    if (end !== null) {
      const fresh = old.map(() => newId())
      await messageStore.copy(ctx.db, id, old, fresh, whole)
      if (workspaceId !== source.workspace_id) await carryFiles(ctx, id, workspaceId)
      await chatStore.grow(ctx.db, id, {
        head: fresh[old.indexOf(end)]!,
        lastSeq: old.length,
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
