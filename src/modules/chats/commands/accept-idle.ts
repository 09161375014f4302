import type { AgentRow } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import { actorOf, behalfOf } from '#core/principal.ts'
import { messageStore } from '../messages/message-store.ts'
import { titleOf } from '../messages/parts.ts'
import { onBehalfOf } from '../runs/acting.ts'
import { ownBudgets } from '../runs/budgets.ts'
import { type RunRow, toRunRow } from '../runs/run-store.ts'
import { type Claim, startEvents, messageEvent, numberedEvents, runEvent } from '../runs/transitions.ts'
import type { ChatRow } from '../store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { type NewMessage, newRunColumns, createMessages } from './new-run.ts'

const MAX_CONTENT_LENGTH = 100_000

/**
 * Accepts a message in an idle chat, batched with others in one statement: round trips delay the first token, and
 * hundreds of runs starting at once would wait for each other.
 * Null if the chat changed since it was read or the message needs the chat lock.
 */
export async function acceptIdle(
  ctx: Context<ChatHandles>,
  chat: ChatRow,
  newMessage: NewMessage,
  { model, agent }: { model: string; agent: AgentRow | null },
): Promise<RunRow | null> {
  const { engine } = ctx
  const { runs } = engine
  if (!isPlain(ctx, chat, newMessage) || runs.draining) return null
  const content = JSON.stringify(newMessage.content)
  if (content.length > MAX_CONTENT_LENGTH) return null
  const parentId = newMessage.parent_id === undefined ? chat.head_message_id : newMessage.parent_id
  const at = ctx.now()
  const { input, output } = createMessages(ctx, chat, {
    parentId,
    parent: null,
    content: newMessage.content,
    at,
    waits: false,
  })
  const runColumns = {
    ...behalfOf(ctx.principal),
    ...newRunColumns(engine, { input, output, at, waits: false }),
    budget_nano: newMessage.budget ?? null,
    chat_id: chat.id,
    workspace_id: chat.workspace_id,
    agent_id: chat.agent_id,
    automation_run_id: null,
    automation_id: null,
    status_reason: null,
    on_busy: newMessage.on_busy,
    model,
    named_model: newMessage.model ?? null,
  }
  const events = numberedEvents(startEvents(toRunRow({ ...runColumns, place: 0n }), output), 0)
  const [place, path] = await Promise.all([
    engine.chatBatches.insertIntoIdle({
      seen: chat.updated_at,
      input,
      output,
      run: runColumns,
      title: chat.title_source === 'default' ? titleOf(input.text) : null,
      events,
      told: [
        messageEvent(input, chat.workspace_id, 'created'),
        runEvent({ ...runColumns, goal_id: null }, 'started'),
      ].map((event) => ({
        event,
        actor: actorOf(ctx.principal),
      })),
    }),
    // An idle chat's earlier messages don't change.
    parentId === null ? [] : messageStore.said(engine.postgres, parentId).catch(() => null),
  ])
  if (place === null) return null
  engine.bus.poke('outbox')
  const run = toRunRow({ ...runColumns, place })
  const claim: Claim = {
    run,
    output,
    events,
    lastSeq: events.length,
    ...(path && {
      known: {
        principal: onBehalfOf(ctx.principal),
        agent,
        said: [...path, input],
        lineage: [ownBudgets(run, agent, chat.max_cost_nano)],
      },
    }),
  }
  runs.begin(claim)
  return run
}

/** True for a person's message to an idle chat, outside a larger transaction. */
const isPlain = ({ db, engine, principal, unchangedSince }: Context, chat: ChatRow, message: NewMessage): boolean =>
  db === engine.postgres.db &&
  unchangedSince === null &&
  principal.credential.kind !== 'server' &&
  chat.status === 'active' &&
  chat.active_run_id === null &&
  message.automationRunId === undefined &&
  message.goalId === undefined
