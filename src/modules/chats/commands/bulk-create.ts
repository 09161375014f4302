import { sql } from 'kysely'
import { type AgentRow, readableAgent } from '#modules/agents/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { type AttributedEvent, writeOutboxEach } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import { checkTarget } from '#authz/resources.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { actorOf, behalfOf } from '#core/principal.ts'
import { ownBudgets } from '../runs/budgets.ts'
import { chooseModel } from '../agent/choose-model.ts'
import { messageStore } from '../messages/message-store.ts'
import { eventStore } from '../runs/event-store.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { type Claim, startEvents, messageEvent, numberedEvents, runEvent } from '../runs/transitions.ts'
import { newRunColumns, createMessages } from './new-run.ts'

export interface NewChatPermit {
  ctx: Context
  workspaceId: Id
  agent: AgentRow
  model: string
}

export async function permitNewChat(
  ctx: Context<ChatHandles>,
  workspaceId: Id,
  row: AgentRow | undefined,
): Promise<NewChatPermit> {
  checkTarget(ctx, workspaceId, 'chat:write')
  checkTarget(ctx, workspaceId, 'chat:run')
  const agent = readableAgent(ctx, row)
  return { ctx, workspaceId, agent, model: await chooseModel(ctx, [agent.model], workspaceId) }
}

export interface NewChat {
  permit: NewChatPermit
  title: string
  text: readonly string[]
  automationId: Id
  automationRunId: Id
  budget: Nano | null
}

/** Call `begin` after the transaction commits. */
export interface CreatedChats {
  runs: RunRow[]
  begin(): void
}

/** Creates all chats or none, within the transaction. Permissions were checked by `permitNewChat`. */
export async function bulkCreate(
  engine: Engine<ChatHandles>,
  db: Db,
  chats: readonly NewChat[],
): Promise<CreatedChats> {
  const { runs } = engine
  const waits = runs.draining
  const at = new Date()
  const newChats = chats.map(({ permit, title, text, automationId, automationRunId, budget }) => {
    const { ctx, workspaceId, agent, model } = permit
    const id = newId()
    const content = text.map((each) => ({ type: 'text' as const, text: each }))
    const first = { parentId: null, parent: null, content, at, waits }
    const { input, output } = createMessages(ctx, { id, last_seq: 0 }, first)
    const chat = { id, workspace_id: workspaceId, created_by: ctx.principal.accountId, title, agent_id: agent.id }
    const run = {
      ...behalfOf(ctx.principal),
      ...newRunColumns(engine, { input, output, at, waits }),
      chat_id: id,
      workspace_id: workspaceId,
      agent_id: agent.id,
      automation_id: automationId,
      automation_run_id: automationRunId,
      budget_nano: budget,
      status_reason: waits ? 'restarted' : null,
      on_busy: 'enqueue' as const,
      model,
    }
    return { permit, chat, input, output, run }
  })
  await insertChats(
    db,
    newChats.map(({ chat, output }) => ({ ...chat, head: output.id })),
    at,
  )
  await messageStore.insertMany(
    db,
    newChats.flatMap(({ input, output }) => [input, output]),
  )
  const rows = new Map(
    (
      await runStore.insertMany(
        db,
        newChats.map(({ run }) => run),
      )
    ).map((row) => [row.id, row]),
  )
  const claims = newChats.map(({ permit, input, output, run: { id } }): Claim => {
    const run = rows.get(id)!
    const events = waits ? [] : numberedEvents(startEvents(run, output), 0)
    const snapshot = {
      principal: permit.ctx.principal,
      agent: permit.agent,
      said: [input],
      lineage: [ownBudgets(run, permit.agent, null)],
    }
    return { run, output, events, lastSeq: events.length, known: snapshot }
  })
  await eventStore.insertMany(db, claims)
  await writeOutboxEach(
    db,
    newChats.flatMap(({ permit: { ctx }, chat, input }, i): AttributedEvent[] => {
      const { id: run_id, automation_id } = claims[i]!.run
      const actor = { ...actorOf(ctx.principal), run_id, automation_id: automation_id! }
      return [
        chatCreated(chat),
        messageEvent(input, chat.workspace_id, 'created'),
        runEvent(claims[i]!.run, waits ? 'queued' : 'started'),
      ].map((event) => ({ event, actor }))
    }),
  )
  return {
    runs: claims.map(({ run }) => run),
    begin() {
      if (waits) return runs.wake()
      for (const claim of claims) runs.begin(claim)
    },
  }
}

export const chatCreated = ({ id, workspace_id }: { id: Id; workspace_id: Id }) => ({
  type: 'chat.created',
  channels: [`chat:${id}`, `workspace:${workspace_id}`],
  resource: { type: 'chat', id },
  data: { id, workspace_id, status: 'active' },
})

/** Inserts chats and their register rows, with head and counters as after their first message and answer. */
async function insertChats(
  db: Db,
  chats: readonly { id: Id; workspace_id: Id; created_by: Id; title: string; agent_id: Id; head: Id }[],
  at: Date,
): Promise<void> {
  const json = JSON.stringify(chats)
  const chatRows = sql`jsonb_to_recordset(${json}::jsonb) as x(id ulid, workspace_id ulid, created_by ulid, title text, agent_id ulid, head ulid)`
  await sql`insert into resources (id, kind, workspace_id, created_by)
    select id, 'chat', workspace_id, created_by from ${chatRows}`.execute(db)
  await sql`insert into chats (id, title, title_source, agent_id, head_message_id, last_seq, last_message_at)
    select id, title, 'user', agent_id, head, 2, ${at} from ${chatRows}`.execute(db)
}
