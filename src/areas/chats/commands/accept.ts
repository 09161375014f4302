import { agentBehind } from '#areas/agents/service.ts'
import type { Context, Engine } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import { type Id, newId } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import { behalfOf } from '#kernel/principal.ts'
import { chooseModel } from '../agent/choose-model.ts'
import { type MessageRow, type Parent, messageStore } from '../messages/message-store.ts'
import { type Part, textOf, titleOf } from '../messages/parts.ts'
import { type OnBusy, type RunRow, runStore } from '../runs/run-store.ts'
import { runsOf } from '../worker/runs.ts'
import { insertSent } from './sent-store.ts'
import { type ChatRow, type HeldChat, chatStore } from '../store.ts'
import { beginning, cancelWaiting, type Claim, claim, messageEvent, numbered, runEvent } from '../runs/transitions.ts'

export interface Sent {
  content: Part[]
  parent_id?: Id | null | undefined
  model?: string | undefined
  on_busy: OnBusy
  /** What the run may spend; null: what its chat and its payer may. */
  budget?: Nano | null
  /** The automation's run that says it. */
  automationRunId?: Id
  /** The call of the run above that hands this on as a task. */
  call?: string
  /** The goal that it is a turn of. */
  goalId?: Id
}

const MOST_WAITING = 100
/** Runs that stand above one another, each begun by a tool of the one above it. */
const MOST_DEPTH = 5

/**
 * Takes a message in: the message, the answer to come and the run that writes it are durable when this resolves. The
 * run begins at once in this process when the chat is idle.
 */
export async function accept(outer: Context, chat: ChatRow, sent: Sent): Promise<RunRow> {
  const { engine } = outer
  const runs = runsOf(engine)
  const model = await modelIn(outer, chat, sent.model)
  const done = await outer.transaction(async (ctx) => {
    const held = await holdActive(ctx, chat.id)
    const parentId = sent.parent_id === undefined ? held.head_message_id : sent.parent_id
    const parent = parentId === null ? null : await messageStore.parent(ctx.db, held.id, parentId)
    if (parentId !== null && parent === null)
      refuse('not_found', { param: 'parent_id', message: 'There is no such message in this chat.' })
    const above = await runAbove(ctx)
    const busy = held.busy ? await makeRoom(ctx, held.id, sent.on_busy) : []
    const at = ctx.now()
    const waits = busy.length > 0 || runs.draining
    const { input, output } = messagesOf(ctx, held, { parentId, parent, content: sent.content, at, waits })
    const run = await runStore.insert(ctx.db, {
      ...behalfOf(ctx.principal),
      ...(sent.budget !== undefined && { budget_nano: sent.budget }),
      ...(sent.automationRunId !== undefined && { automation_run_id: sent.automationRunId }),
      ...(above !== null && { parent_run_id: above.id, depth: above.depth + 1, parent_call: sent.call ?? null }),
      ...(sent.goalId !== undefined && { goal_id: sent.goalId }),
      ...firstOf(engine, { input, output, at, waits }),
      chat_id: held.id,
      workspace_id: held.workspace_id,
      agent_id: held.agent_id,
      status_reason: busy.length > 0 ? 'chat_busy' : waits ? 'restarted' : null,
      on_busy: sent.on_busy,
      model,
      named_model: sent.model ?? null,
    })
    const title = held.title_source === 'default' ? titleOf(input.text) : null
    const events = waits ? [] : numbered(beginning(run, output), 0)
    await insertSent(ctx.db, { chatId: held.id, messages: [input, output], at, title, runId: run.id, events })
    await ctx.emit(messageEvent(input, held.workspace_id, 'created'), runEvent(run, waits ? 'queued' : 'started'))
    return { busy, claim: waits ? null : { run, output, events, lastSeq: events.length }, run }
  })
  // Within a larger transaction there is nothing to run before that is durable.
  outer.afterCommit(() => {
    go(outer, done.claim)
    if (sent.on_busy === 'interrupt') runs.stop(done.busy.map(({ id }) => id))
  })
  return done.run
}

/**
 * A new attempt of a failed run, with an answer of its own beside the failed one: by the model named here, else by the one
 * that the message named, else by the chat's as it is now.
 */
export async function retry(outer: Context, chat: ChatRow, runId: Id, named?: string): Promise<RunRow> {
  const { engine } = outer
  const { run: tried } = await failedRun(outer, chat.id, runId)
  const model = await modelIn(outer, chat, named ?? tried.named_model ?? undefined)
  const runs = runsOf(engine)
  const done = await outer.transaction(async (ctx) => {
    const held = await holdActive(ctx, chat.id)
    const { run: before, input } = await failedRun(ctx, held.id, runId)
    const busy = await runStore.unfinished(ctx.db, held.id)
    const output = answerTo(held, { id: before.input_message_id, ...input }, before.id, held.last_seq + 1, ctx.now())
    await messageStore.insert(ctx.db, [output])
    const waits = busy.length > 0 ? 'chat_busy' : runs.draining ? 'restarted' : null
    const queued = (await runStore.requeue(ctx.db, before.id, output.id, waits, {
      ...behalfOf(ctx.principal),
      model,
    }))!
    await chatStore.grow(ctx.db, held.id, { head: output.id, lastSeq: output.seq, at: ctx.now(), title: null })
    await ctx.emit(runEvent(queued, 'queued'))
    const claimed = waits !== null ? null : await claim(ctx.db, queued.id, engine.processId)
    return { run: claimed?.run ?? queued, claim: claimed }
  })
  go(outer, done.claim)
  return done.run
}

async function failedRun({ db }: Context, chatId: Id, runId: Id): Promise<{ run: RunRow; input: Parent }> {
  const run = await runStore.get(db, chatId, runId)
  if (!run) return refuse('not_found', { param: 'run_id', message: 'There is no such run in this chat.' })
  const input = await messageStore.parent(db, chatId, run.input_message_id)
  if (run.status !== 'failed' || !input)
    return refuse('invalid_state', {
      message: `Only a failed run can be tried again; this one is ${run.status}.`,
      details: { status: run.status, allowed: allowedFor(run) },
    })
  return { run, input }
}

export const allowedFor = ({ status }: RunRow): string[] =>
  status === 'failed' ? ['retry'] : status === 'completed' || status === 'cancelled' ? [] : ['stop']

function go({ engine }: Context, claimed: Claim | null): void {
  const runs = runsOf(engine)
  if (claimed) runs.begin(claimed)
  else if (runs.draining) runs.wake()
}

/** The chat's turn, refused where it is gone or put away. */
export async function holdActive(ctx: Context, id: Id): Promise<HeldChat> {
  const held = (await chatStore.hold(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
  if (ctx.unchangedSince && ctx.unchangedSince.getTime() !== held.updated_at.getTime()) refuse('precondition_failed')
  if (held.status !== 'active')
    refuse('invalid_state', {
      message: `This chat is ${held.status === 'archived' ? 'archived' : 'in the trash'}, so it is read-only.`,
      details: {
        status: held.status,
        allowed: held.status === 'archived' ? ['unarchive', 'trash'] : ['restore', 'permanent-delete'],
      },
    })
  return held
}

/** Which model answers in this chat. A provider may be asked what it serves: who holds rows asks before. */
export async function modelIn(ctx: Context, chat: ChatRow, named?: string): Promise<string> {
  const agent = await agentOf(ctx, chat)
  return chooseModel(ctx, [named, chat.model, agent?.model])
}

async function agentOf(ctx: Context, { agent_id, workspace_id }: ChatRow) {
  if (agent_id === null) return null
  const agent = await agentBehind(ctx, agent_id, workspace_id)
  if (agent === null)
    refuse('invalid_state', {
      message: 'The agent of this chat is gone or in the trash. Restore it, or give the chat another `agent_id`.',
      param: 'agent_id',
    })
  return agent
}

/** The run whose agent sends this, if one does. Agents that send to one another come to an end. */
async function runAbove({ db, principal: { credential } }: Context): Promise<Pick<RunRow, 'id' | 'depth'> | null> {
  const id = credential.kind === 'server' ? credential.run?.id : undefined
  const [run] = id === undefined ? [] : await runStore.byIds(db, [id])
  if (run !== undefined && run.depth >= MOST_DEPTH)
    refuse('limit_reached', {
      message: `Agents have handed this on ${MOST_DEPTH} times; it goes no further.`,
      details: { limit: MOST_DEPTH },
    })
  return run ?? null
}

/** What is in the way, as `on_busy` says; answers the runs that are still to be waited for. */
async function makeRoom(ctx: Context, chatId: Id, onBusy: OnBusy): Promise<RunRow[]> {
  const busy = await runStore.unfinished(ctx.db, chatId)
  if (busy.length > 0 && onBusy === 'reject')
    refuse('chat_busy', { details: { run_id: busy[0]!.id, status: busy[0]!.status } })
  if (onBusy === 'interrupt') return stopAll(ctx, busy)
  if (busy.length > MOST_WAITING)
    refuse('limit_reached', {
      message: `${MOST_WAITING} messages wait in this chat. Wait for an answer, or stop its runs.`,
      details: { limit: MOST_WAITING },
    })
  return busy
}

/** Ends the runs that wait and asks those that run to stop; answers the latter. Tell `Runs.stop` after the commit. */
export async function stopAll(ctx: Pick<Context, 'db'>, runs: readonly RunRow[]): Promise<RunRow[]> {
  const running: RunRow[] = []
  for (const run of runs) {
    const asked = await runStore.requestCancel(ctx.db, run.id)
    if (asked?.status === 'running') running.push(asked)
    else if (asked) await cancelWaiting(ctx.db, asked)
  }
  return running
}

/** A run as it begins: here and now, or with the next turn that is free. */
export const firstOf = (
  { processId }: Pick<Engine, 'processId'>,
  { input, output, at, waits }: { input: MessageRow; output: MessageRow; at: Date; waits: boolean },
) => ({
  id: input.run_id!,
  status: waits ? ('queued' as const) : ('running' as const),
  input_message_id: input.id,
  output_message_id: output.id,
  process_id: waits ? null : processId,
  fence: waits ? 0 : 1,
  queued_at: at,
  started_at: waits ? null : at,
  created_at: at,
  updated_at: at,
})

/** A message and the answer to it that is to come. */
export function messagesOf(
  { principal }: Context,
  chat: Pick<HeldChat, 'id' | 'last_seq'>,
  {
    parentId,
    parent,
    content,
    at,
    waits,
  }: { parentId: Id | null; parent: Parent | null; content: Part[]; at: Date; waits: boolean },
): { input: MessageRow; output: MessageRow } {
  const id = newId(at.getTime())
  const input: MessageRow = {
    ...BLANK,
    id,
    chat_id: chat.id,
    parent_id: parentId,
    line_id: parent === null || parent.continued ? id : parent.line_id,
    depth: parent === null ? 0 : parent.depth + 1,
    seq: chat.last_seq + 1,
    run_id: newId(),
    role: 'user',
    status: 'completed',
    content,
    text: textOf(content),
    created_by: principal.accountId,
    created_at: at,
    updated_at: at,
  }
  const output = answerTo(chat, { ...input, continued: false }, input.run_id!, input.seq + 1, at)
  return { input, output: { ...output, status: waits ? 'queued' : 'in_progress' } }
}

function answerTo(chat: Pick<HeldChat, 'id'>, to: Parent & { id: Id }, runId: Id, seq: number, at: Date): MessageRow {
  const id = newId(at.getTime())
  return {
    ...BLANK,
    id,
    chat_id: chat.id,
    parent_id: to.id,
    line_id: to.continued ? id : to.line_id,
    depth: to.depth + 1,
    seq,
    run_id: runId,
    created_at: at,
    updated_at: at,
  }
}

const BLANK = {
  role: 'assistant' as const,
  status: 'queued' as const,
  content: [],
  text: '',
  model: null,
  provider: null,
  finish_reason: null,
  usage: null,
  cost_nano: null,
  created_by: null,
}
