import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { behalfOf } from '#core/principal.ts'
import { answererOf } from '../agent/choose-model.ts'
import { lockActiveChat } from '../lock.ts'
import { messageStore } from '../messages/message-store.ts'
import { titleOf } from '../messages/parts.ts'
import { type OnBusy, type RunRow, runStore } from '../runs/run-store.ts'
import { startEvents, messageEvent, numberedEvents, runEvent } from '../runs/transitions.ts'
import type { ChatRow } from '../store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { acceptIdle } from './accept-idle.ts'
import { type NewMessage, beginOrWake, newRunColumns, createMessages } from './new-run.ts'
import { insertAccepted } from '../runs/message-inserts.ts'
import { stopAll } from './stop.ts'

const MAX_WAITING = 100
const MAX_DEPTH = 5

/** Saves the message, the pending answer and the run. The run starts in this process at once if the chat is idle. */
export async function accept(outer: Context<ChatHandles>, chat: ChatRow, newMessage: NewMessage): Promise<RunRow> {
  const answerer = await answererOf(outer, chat, newMessage.model)
  const run = await acceptIdle(outer, chat, newMessage, answerer)
  return run ?? acceptHeld(outer, chat, newMessage, answerer.model)
}

async function acceptHeld(
  outer: Context<ChatHandles>,
  chat: ChatRow,
  message: NewMessage,
  model: string,
): Promise<RunRow> {
  const { engine } = outer
  const { runs } = engine
  const result = await outer.transaction(async (ctx) => {
    const locked = await lockActiveChat(ctx, chat.id)
    const parentId = message.parent_id === undefined ? locked.head_message_id : message.parent_id
    const parent = parentId === null ? null : await messageStore.parent(ctx.db, locked.id, parentId)
    if (parentId !== null && parent === null)
      refuse('not_found', { param: 'parent_id', message: 'The message doesn’t exist in this chat.' })
    const parentRun = await loadParentRun(ctx)
    const busy = locked.busy ? await makeRoom(ctx, locked.id, message.on_busy) : []
    const at = ctx.now()
    const waits = busy.length > 0 || runs.draining
    const { input, output } = createMessages(ctx, locked, { parentId, parent, content: message.content, at, waits })
    const run = await runStore.insert(ctx.db, {
      ...behalfOf(ctx.principal),
      ...(message.budget !== undefined && { budget_nano: message.budget }),
      ...(message.automationRunId !== undefined && { automation_run_id: message.automationRunId }),
      automation_id: automationBehind(ctx),
      ...(parentRun !== null && {
        parent_run_id: parentRun.id,
        depth: parentRun.depth + 1,
        parent_call: message.call ?? null,
      }),
      ...(message.goalId !== undefined && { goal_id: message.goalId }),
      ...newRunColumns(engine, { input, output, at, waits }),
      chat_id: locked.id,
      workspace_id: locked.workspace_id,
      agent_id: locked.agent_id,
      status_reason: busy.length > 0 ? 'chat_busy' : waits ? 'restarted' : null,
      on_busy: message.on_busy,
      model,
      named_model: message.model ?? null,
    })
    const title = locked.title_source === 'default' ? titleOf(input.text) : null
    const events = waits ? [] : numberedEvents(startEvents(run, output), 0)
    await insertAccepted(ctx.db, { chatId: locked.id, messages: [input, output], at, title, runId: run.id, events })
    await ctx.emit(messageEvent(input, locked.workspace_id, 'created'), runEvent(run, waits ? 'queued' : 'started'))
    return { busy, claim: waits ? null : { run, output, events, lastSeq: events.length }, run }
  })
  // The run can start only after an enclosing transaction commits.
  outer.afterCommit(() => {
    beginOrWake(outer, result.claim)
    if (message.on_busy === 'interrupt') runs.stop(result.busy.map(({ id }) => id))
  })
  return result.run
}

const automationBehind = ({ principal: { credential } }: Context): Id | null =>
  credential.kind === 'server' ? (credential.automationId ?? null) : null

/** Returns the calling agent's run, if any. Throws `limit_reached` when agents delegate too deeply. */
async function loadParentRun({ db, principal: { credential } }: Context): Promise<Pick<RunRow, 'id' | 'depth'> | null> {
  const id = credential.kind === 'server' ? credential.run?.id : undefined
  const [run] = id === undefined ? [] : await runStore.byIds(db, [id])
  if (run !== undefined && run.depth >= MAX_DEPTH)
    refuse('limit_reached', {
      message: `The task was delegated ${MAX_DEPTH} times, which is the limit.`,
      details: { limit: MAX_DEPTH },
    })
  return run ?? null
}

async function makeRoom(ctx: Context, chatId: Id, onBusy: OnBusy): Promise<RunRow[]> {
  const busy = await runStore.unfinished(ctx.db, chatId)
  if (busy.length > 0 && onBusy === 'reject')
    refuse('chat_busy', { details: { run_id: busy[0]!.id, status: busy[0]!.status } })
  if (onBusy === 'interrupt') return stopAll(ctx, busy)
  if (busy.length > MAX_WAITING)
    refuse('limit_reached', {
      message: `${MAX_WAITING} messages are already waiting in this chat. Wait for an answer, or stop its runs.`,
      details: { limit: MAX_WAITING },
    })
  return busy
}
