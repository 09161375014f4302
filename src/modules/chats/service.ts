import { agentFor } from '#modules/agents/service.ts'
import { checkOperationRoom, defineOperation, startOperation } from '#modules/operations/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import { lifecycleOf } from '#authz/lifecycle.ts'
import { insertResource, visibleWorkspaces } from '#authz/resources.ts'
import { finder } from '#core/context.ts'
import type { Background } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import { nanoOrNull } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { approvals, showApproval } from './approvals/approvals.ts'
import { checkAnswer } from './agent/check-answer.ts'
import { defaultModel, modelIn } from './agent/choose-model.ts'
import { accept } from './commands/accept.ts'
import { changeChat, emitChatEvent } from './commands/change.ts'
import type { NewMessage } from './commands/new-run.ts'
import { decide } from './commands/decide.ts'
import { namesFiles, withFiles } from './messages/file-references.ts'
import { compact } from './commands/compact.ts'
import { chats } from './contract.ts'
import { copyChat } from './copies/copy.ts'
import { costOf, messageCosts } from './cost-report.ts'
import { delegate } from './commands/delegate.ts'
import { retry } from './commands/retry.ts'
import { stopAll } from './commands/stop.ts'
import { exportChat } from './copies/export.ts'
import { importChat } from './copies/import.ts'
import { untilAnswered, follow } from './worker/follow.ts'
import { goalStore } from './goals/goal-store.ts'
import { endGoalOf, goalOrNone, readGoal, resumeGoal, startGoal } from './goals/goals.ts'
import { endGoalWithRun, stop } from './goals/stop.ts'
import { listMessages } from './messages/list.ts'
import type { Part } from './messages/parts.ts'
import { type RunRow, runStore } from './runs/run-store.ts'
import { showRun, visibleTo } from './runs/show.ts'
import { type ChatHandles, type Runs, startRuns as start } from './worker/runs.ts'
import { pins } from './pins/pins.ts'
import { showChat } from './show.ts'
import { type ChatRow, chatStore } from './store.ts'
import { deleteNow } from './temporary/expire.ts'
import { checkKept, isHidden } from './temporary/temporary.ts'

export { chatSearchable } from './searchable.ts'
export { deletedRunSchedules } from './worker/late-writes.ts'
export { requestSchedules, requestSecrets } from './runs/model-requests.ts'
export { goalConsumer, goalJobs, goalSchedules } from './goals/pursue.ts'
export { type NewChat, type NewChatPermit, bulkCreate, permitNewChat } from './commands/bulk-create.ts'
export { type OutsideTools, createOutsideTools } from './agent/tools/outside-tools.ts'
export { temporarySchedules } from './temporary/expire.ts'
export { checkKept, isHidden, isOfTemporary } from './temporary/temporary.ts'
export { createChatBatches } from './worker/chat-batches.ts'
export type { ChatHandles, Runs } from './worker/runs.ts'
export { type Outcome, chatFor, checkPost, outcomesOf, postMessage, spentFor } from './commands/post-message.ts'
export { stopRun } from './commands/stop.ts'
export { runToReport } from './runs/show.ts'
export { endGoalsOf, unfinishedRunsOf } from './goals/end-all.ts'

export const startRuns = (engine: Engine<ChatHandles>): Runs => start(engine, delegate(engine))

const chat = finder('chat', async (ctx: Context<ChatHandles>, id): Promise<ChatRow | null> => {
  const row = await ctx.engine.chatBatches.find(id)
  return row === null || isHidden(ctx.principal, row) ? null : row
})

const chatLifecycle = lifecycleOf({
  kind: 'chat',
  read: async (ctx, id) => showChat(await getChat(ctx, id)),
  channels: ({ id }) => [`chat:${id}`],
})

/** Continues a send in the background. Ends when the run ends. */
export const sendOperation = defineOperation<{ chat_id: Id; run_id: Id }, ChatHandles>(
  'chats.send',
  async (ctx, { chat_id, run_id }, { signal }) => {
    const { runs } = ctx.engine
    const answer = await untilAnswered(ctx, run_id, DAY_MS)
    if (answer)
      return {
        result: answer,
        cost: (await runStore.get(ctx.db, chat_id, run_id))?.cost_nano ?? null,
        cancelled: answer.run.status === 'cancelled',
      }
    // During shutdown, the run continues in another process. Otherwise the operation was canceled.
    if (runs.draining) await aborted(signal)
    else await stop(ctx, chat_id, run_id)
    throw new Error('the run was left')
  },
  { repeatable: true },
)
const DAY_MS = 86_400_000
/** The column's largest value, so no event follows it. */
const LAST_SEQ = 2 ** 31 - 1
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

export const chatService = implementWith<Context<ChatHandles>>()(
  chats,
  {
    async list(ctx, { status, workspace_id, agent_id, parent_chat_id, temporary, cursor, limit }) {
      const workspaces = visibleWorkspaces(ctx, 'chat:read', workspace_id)
      const filters = { status, workspace_id, agent_id, parent_chat_id, temporary }
      const before = (positionOf('chats', filters, cursor)?.[0] as Id) ?? null
      const rows = await chatStore.list(
        ctx.engine.postgres,
        { workspaces, status, before, limit: limit + 1 },
        { agentId: agent_id, parentId: parent_chat_id, temporary, accountId: ctx.principal.accountId },
      )
      return pageOf(rows, limit, ({ id }) => cursorOf('chats', filters, [id]), showChat)
    },

    get: (ctx) => showChat(chat.of(ctx)),

    async create(ctx, { title, agent_id, model, max_cost_usd, temporary }) {
      if (agent_id !== null) await agentFor(ctx, agent_id)
      return ctx.transaction(async (ctx) => {
        const id = newId()
        const register = await insertResource(ctx, { id, kind: 'chat', workspace_id: ctx.workspace!.id })
        await chatStore.insert(ctx.db, {
          id,
          title: title ?? 'New chat',
          title_source: title === undefined ? 'default' : 'user',
          agent_id,
          model,
          max_cost_nano: nanoOrNull(max_cost_usd),
          temporary,
        })
        await emitChatEvent(ctx, register, 'created')
        return showChat(await getChat(ctx, id))
      })
    },

    update: async (ctx, changes) => showChat(await changeChat(ctx, chat.of(ctx), changes)),

    ...chatLifecycle,

    archive: (ctx, { id }) =>
      ctx.transaction(async (ctx) => {
        const archivedChat = await chatLifecycle.archive(ctx, { id })
        const [busy] = await runStore.unfinished(ctx.db, id)
        if (busy) refuse('chat_busy', { details: { run_id: busy.id, status: busy.status } })
        // A goal is still active between two turns, when no run is.
        const goal = await goalStore.active(ctx.db, id)
        if (goal)
          refuse('chat_busy', {
            message: 'This chat has an active goal. End it first.',
            details: { goal_id: goal.id },
          })
        return archivedChat
      }),

    trash: (outer, { id }) =>
      outer.transaction(async (ctx) => {
        const trashedChat = await chatLifecycle.trash(ctx, { id })
        await endGoalWithRun(ctx, id, null)
        const running = await stopAll(ctx, await runStore.unfinished(ctx.db, id))
        ctx.afterCommit(() => ctx.engine.runs.stop(running.map((run) => run.id)))
        return trashedChat
      }),

    permanent_delete: (ctx, { id }) =>
      chat.of(ctx).temporary ? deleteNow(ctx, id) : chatLifecycle.permanent_delete(ctx, { id }),

    start_goal: (ctx, wanted) => startGoal(ctx, chat.of(ctx), wanted),

    goal: (ctx) => readGoal(ctx, chat.of(ctx)),

    end_goal: (ctx) => endGoalOf(ctx, chat.of(ctx)),

    resume_goal: (ctx, caps) => resumeGoal(ctx, chat.of(ctx), caps),

    compact: (ctx, { model }) => compact(ctx, chat.of(ctx), model),

    export: (ctx, { format, branch }) => exportChat(ctx, chat.of(ctx), format, branch),

    import: (ctx, given) => importChat(ctx, ctx.workspace!.id, given),

    async copy_to_agent(ctx, { agent_id }) {
      const { workspace_id: workspaceId } = await agentFor(ctx, agent_id)
      return copyChat(ctx, chat.of(ctx), { workspaceId, agentId: agent_id, upTo: undefined, kind: 'copy' })
    },

    copy_to_workspace: (ctx, { workspace_id, message_id }) =>
      copyChat(ctx, chat.of(ctx), { workspaceId: workspace_id, upTo: message_id, kind: 'copy' }),

    fork_to_workspace: (ctx, { workspace_id, message_id }) =>
      copyChat(ctx, chat.of(ctx), { workspaceId: workspace_id, upTo: message_id, kind: 'fork' }),

    messages: (ctx, input) => listMessages(ctx, chat.of(ctx), input),

    async send(ctx, { background, ...sent }) {
      if (background) {
        await checkOperationRoom(ctx)
        await checkAnswer(ctx, chat.of(ctx), { model: sent.model, text: textIn(sent.content) })
      }
      const run = await takeIn(ctx, sent)
      return waitFor(ctx, run, background)
    },

    async stream(ctx, sent) {
      const run = await takeIn(ctx, sent)
      return follow(ctx.engine, run.id, 0, ctx.signal)
    },

    async runs(ctx, { id, status, cursor, limit }) {
      const filters = { id, status }
      const before = (positionOf('runs', filters, cursor)?.[0] as Id) ?? null
      const rows = await runStore.list(ctx.db, id, { status, before, limit: limit + 1 })
      return pageOf(
        rows,
        limit,
        (row) => cursorOf('runs', filters, [row.id]),
        (row) => showRun(visibleTo(ctx.principal, row)),
      )
    },

    run: async (ctx, { id, run_id }) => showRun(visibleTo(ctx.principal, await theRun(ctx, id, run_id))),

    async events(ctx, { id, run_id, last_event_id }) {
      await theRun(ctx, id, run_id)
      return follow(ctx.engine, run_id, Math.min(last_event_id, LAST_SEQ), ctx.signal)
    },

    async retry(ctx, { id, run_id, model, background }) {
      if (background) {
        await checkOperationRoom(ctx)
        const { status, named_model } = await theRun(ctx, id, run_id)
        if (status === 'failed')
          await checkAnswer(ctx, chat.of(ctx), { model: model ?? named_model ?? undefined, text: '' })
      }
      const run = await retry(ctx, chat.of(ctx), run_id, model)
      return waitFor(ctx, run, background)
    },

    actions: async (ctx, { id, run_id, actions }) => showRun(await decide(ctx, id, run_id, actions)),

    async approvals(ctx, { id, cursor, limit }) {
      const before = (positionOf('approvals', id, cursor)?.[0] as Id) ?? null
      const rows = await approvals.list(ctx, id, { before, limit: limit + 1 })
      return pageOf(rows, limit, (row) => cursorOf('approvals', id, [row.id]), showApproval)
    },

    async revoke_approval(ctx, { id, approval_id }) {
      await approvals.revoke(ctx, id, approval_id)
      return { id: approval_id }
    },

    stop: async (ctx, { id, run_id }) => showRun(await stop(ctx, id, run_id)),

    cost: (ctx) => costOf(ctx, chat.of(ctx)),

    message_costs: (ctx, input) => messageCosts(ctx, input),

    async goal_or_none(ctx) {
      const row = chat.of(ctx)
      return { id: row.id, created_at: iso(row.created_at), goal: await goalOrNone(ctx, row) }
    },

    async model(ctx) {
      const { id, created_at } = chat.of(ctx)
      return { id, created_at: iso(created_at), model: await modelIn(ctx, chat.of(ctx)) }
    },

    async default_model(ctx) {
      const { id } = ctx.workspace!
      return { id, created_at: iso(ctx.now()), model: await defaultModel(ctx, id) }
    },

    async pinned(ctx, { cursor, limit }) {
      const before = (positionOf('pinned_chats', {}, cursor)?.[0] as Id) ?? null
      const workspaces = visibleWorkspaces(ctx, 'chat:read', undefined)
      const rows = await chatStore.pinned(ctx.db, ctx.principal.accountId, { workspaces, before, limit: limit + 1 })
      return pageOf(rows, limit, ({ pin_id }) => cursorOf('pinned_chats', {}, [pin_id]), showChat)
    },

    async pin(ctx) {
      checkKept(chat.of(ctx), 'pinned')
      await pins.add(ctx.db, ctx.principal.accountId, chat.of(ctx).id)
      return showChat(chat.of(ctx))
    },

    async unpin(ctx) {
      const { id } = chat.of(ctx)
      await pins.remove(ctx.db, ctx.principal.accountId, id)
      return { id }
    },
  },
  [chat],
)

type Message = Omit<NewMessage, 'content' | 'budget'> & {
  content: Parameters<typeof withFiles>[2]
  max_cost_usd?: number | undefined
}

const textIn = (content: Message['content']): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('')

function takeIn(ctx: Context<ChatHandles>, { content, max_cost_usd, ...more }: Message): Promise<RunRow> {
  const newMessage = { ...more, budget: nanoOrNull(max_cost_usd ?? null) }
  const into = chat.of(ctx)
  if (!namesFiles(content)) return accept(ctx, into, { ...newMessage, content: content as Part[] })
  return ctx.transaction(async (ctx) =>
    accept(ctx, into, { ...newMessage, content: await withFiles(ctx, into, content) }),
  )
}

const getChat = async (ctx: Context, id: Id): Promise<ChatRow> =>
  (await chatStore.get(ctx.db, id)) ?? refuse('not_found', { param: 'id' })

const theRun = async (ctx: Context, chatId: Id, runId: Id): Promise<RunRow> =>
  (await runStore.get(ctx.db, chatId, runId)) ??
  refuse('not_found', { param: 'run_id', message: 'The run doesn’t exist in this chat.' })

async function waitFor(ctx: Context<ChatHandles>, run: RunRow, background: boolean) {
  const answer = background ? null : await untilAnswered(ctx, run.id)
  // During shutdown, connected clients get an error and can read the run after the restart.
  if (answer === null && !background && ctx.signal.aborted) refuse('shutting_down', { details: { run_id: run.id } })
  return answer ?? inBackground(ctx, run)
}

const inBackground = (ctx: Context, { id, chat_id, workspace_id }: RunRow): Promise<Background> =>
  startOperation(
    ctx,
    sendOperation,
    { chat_id, run_id: id },
    { resource: { type: 'run', id }, workspaceId: workspace_id, chatId: chat_id, isAccepted: true },
  )
