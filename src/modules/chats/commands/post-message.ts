import { sql } from 'kysely'
import { agentFor } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { checkTarget, insertResource, placeIn } from '#authz/resources.ts'
import { absent, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { checkPlace } from '#authz/place.ts'
import { accept } from './accept.ts'
import { answererOf, chooseModel } from '../agent/choose-model.ts'
import { chatCreated } from './bulk-create.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import { type ChatRow, chatStore } from '../store.ts'
import { checkKept, isHidden, isTemporary } from '../temporary/temporary.ts'
import type { ChatHandles } from '../worker/runs.ts'

/** Returns a chat referenced by another resource. Throws `not_found` with `param` if it is missing or unreadable. */
export async function chatFor(ctx: Context, id: Id, param = 'chat_id'): Promise<ChatRow> {
  const row = await chatStore.get(ctx.db, id)
  const notFound = { param, message: absent('chat', id) }
  if (row === null || row.status === 'trashed' || isHidden(ctx.principal, row)) return refuse('not_found', notFound)
  checkPlace(placeIn(ctx, row.workspace_id, notFound), 'chat:read')
  checkKept(row, 'spoken in by an automation')
  return row
}

export interface Post {
  workspaceId: Id
  chatId: Id | null
  agentId: Id
  title: string
  text: readonly string[]
  automationRunId: Id
  budget: Nano | null
}

/** Throws if the caller can't post. Call it before locking rows, because it may wait for a provider. */
export async function checkPost(
  ctx: Context<ChatHandles>,
  { workspaceId, chatId, agentId }: Pick<Post, 'workspaceId' | 'chatId' | 'agentId'>,
): Promise<void> {
  checkTarget(ctx, workspaceId, 'chat:write')
  checkTarget(ctx, workspaceId, 'chat:run')
  const agent = await agentFor(ctx, agentId)
  if (chatId === null) await chooseModel(ctx, [agent.model], workspaceId)
  else await answererOf(ctx, await chatFor(ctx, chatId))
}

/** Posts with the caller's permissions in the caller's transaction. */
export async function postMessage(
  ctx: Context<ChatHandles>,
  { workspaceId, chatId, agentId, title, text, ...by }: Post,
): Promise<RunRow> {
  checkTarget(ctx, workspaceId, 'chat:write')
  checkTarget(ctx, workspaceId, 'chat:run')
  await agentFor(ctx, agentId)
  const chat = chatId === null ? await insertChat(ctx, workspaceId, agentId, title) : await chatFor(ctx, chatId)
  if (chat.workspace_id !== workspaceId)
    return refuse('not_found', { param: 'chat_id', message: 'The chat was moved.' })
  return accept(ctx, chat, {
    content: text.map((each) => ({ type: 'text' as const, text: each })),
    on_busy: 'enqueue',
    automationRunId: by.automationRunId,
    budget: by.budget,
  })
}

/** `parent`: the chat whose run delegates to this chat's agent. The new chat inherits whether it is temporary. */
export async function insertChat(
  ctx: Context,
  workspaceId: Id,
  agentId: Id,
  title: string,
  parent: Id | null = null,
): Promise<ChatRow> {
  const id = newId()
  const register = await insertResource(ctx, { id, kind: 'chat', workspace_id: workspaceId })
  await chatStore.insert(ctx.db, {
    id,
    title,
    title_source: 'user',
    agent_id: agentId,
    model: null,
    parent_chat_id: parent,
    temporary: parent !== null && (await isTemporary(ctx.db, parent)),
  })
  await ctx.emit(chatCreated(register))
  return (await chatStore.get(ctx.db, id))!
}

export interface Outcome {
  status: RunRow['status']
  error: RunRow['error']
}

export const outcomesOf = async (db: Db, ids: readonly Id[]): Promise<Map<Id, Outcome>> =>
  new Map((await runStore.byIds(db, ids)).map(({ id, status, error }) => [id, { status, error }]))

/** Sums the cost of all attempts per automation run. Runs without a known cost are absent. */
export async function spentFor(db: Db, automationRunIds: readonly Id[]): Promise<Map<Id, Nano>> {
  const { rows } = await sql<{
    id: Id
    nano: Nano
  }>`select automation_run_id as id, sum(cost_nano)::bigint as nano from runs
    where automation_run_id = any(${automationRunIds}::ulid[]) and cost_nano is not null group by 1`.execute(db)
  return new Map(rows.map(({ id, nano }) => [id, nano]))
}
