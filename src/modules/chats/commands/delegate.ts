import { agentWithin } from '#modules/agents/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { checkTarget } from '#authz/resources.ts'
import { Refusal, errorBody, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { accept } from './accept.ts'
import { claimStore } from '../runs/claim-store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { untilSettled } from '../worker/follow.ts'
import { actingFor } from '../runs/acting.ts'
import type { Delegate, ToolUse } from '../agent/tools/toolset.ts'
import { messageStore } from '../messages/message-store.ts'
import { finalText, titleOf } from '../messages/parts.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import { insertChat } from './post-message.ts'
import { mistake } from '../messages/tool-calls.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX_TASKS = 32
/** The longest timer delay: a task can last as long as its run. */
const EVER_MS = 2 ** 31 - 1

/**
 * Delegates a task once, even if the call repeats, and waits for its end in any process.
 * Returns the other agent's last message, or where the task waits for a person.
 */
export const delegate =
  (engine: Engine<ChatHandles>): Delegate =>
  async (agentId, task, use) => {
    const { run, call, signal } = use
    const key = `${run.attempt}:${call.index}`
    const { db } = engine.postgres
    let child = await runStore.delegated(db, run.id, key)
    if (!child)
      try {
        child = await startTask(engine, agentId, task, key, use)
        const { id, chat_id } = child
        const data = { tool_call_id: call.call.id, agent_id: agentId, chat_id, run_id: id }
        await use.tell([{ type: 'subagent.started', data }])
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return { output: errorBody(error), is_error: true }
      }
    const childRun = await untilSettled(engine, child.id, EVER_MS, signal)
    if (childRun === undefined) return mistake('The chat of this task was deleted.')
    if (childRun === null) return mistake('No run was waiting for this task’s result.')
    if (childRun.status === 'requires_action') return { waits: { chat_id: childRun.chat_id, run_id: childRun.id } }
    const lastMessage = await messageStore.get(db, childRun.chat_id, childRun.output_message_id)
    return {
      output: {
        status: childRun.status,
        text: lastMessage ? finalText(lastMessage.content) : '',
        ...(childRun.error && { error: childRun.error }),
        chat_id: childRun.chat_id,
        run_id: childRun.id,
      },
      is_error: childRun.status !== 'completed',
    }
  }

async function startTask(
  engine: Engine<ChatHandles>,
  agentId: Id,
  task: string,
  key: string,
  use: ToolUse,
): Promise<RunRow> {
  const { run } = use
  const actingCtx = await actingFor(engine, run, run.held_to, { ...use, consented: false })
  if (actingCtx === null) return refuse('not_found', { message: 'The account that started this run no longer exists.' })
  try {
    return await actingCtx.transaction((ctx) => createTask(ctx, run, agentId, task, key))
  } catch (error) {
    // Another process delegated it for the same call.
    const existingRun = sqlState(error) === '23505' && (await runStore.delegated(engine.postgres.db, run.id, key))
    if (existingRun) return existingRun
    throw error
  }
}

async function createTask(
  ctx: Context<ChatHandles>,
  run: RunRow,
  agentId: Id,
  task: string,
  key: string,
): Promise<RunRow> {
  if (!(await claimStore.isHeld(ctx.db, run))) throw new Error('another process has the run')
  checkTarget(ctx, run.workspace_id, 'chat:write')
  checkTarget(ctx, run.workspace_id, 'chat:run')
  const agent = await agentWithin(ctx, agentId, run.workspace_id)
  if ((await runStore.tasks(ctx.db, run)) >= MAX_TASKS)
    refuse('limit_reached', {
      message: `A run can delegate up to ${MAX_TASKS} tasks.`,
      details: { limit: MAX_TASKS },
    })
  const title = shorten(`${agent.name}: ${titleOf(task)}`, 200).toWellFormed()
  const chat = await insertChat(ctx, run.workspace_id, agent.id, title, run.chat_id)
  return accept(ctx, chat, {
    content: [{ type: 'text', text: task }],
    on_busy: 'enqueue',
    // The agent's model, if set, is the new chat's default.
    ...(agent.model === null && { model: run.model }),
    call: key,
  })
}
