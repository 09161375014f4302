/** Status changes of a run. Each needs a transaction that holds the chat lock. */
import type { AgentRow } from '#modules/agents/service.ts'
import { type EmittedEvent, writeOutbox, writeOutboxEach } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Nano, toUsd } from '#core/money.ts'
import type { Actor, Principal } from '#core/principal.ts'
import { type Usage, addUsage } from '#core/usage.ts'
import type { RunBudgets } from './budgets.ts'
import { claimStore } from './claim-store.ts'
import { type MessageRow, messageStore } from '../messages/message-store.ts'
import { type Part, textOf } from '../messages/parts.ts'
import { showMessage } from '../messages/show.ts'
import { type Logged, eventStore } from './event-store.ts'
import { type RunEvent, isEnd, partsOf } from './facts.ts'
import type { PendingAction, RunRow } from './run-store.ts'
import { showRun } from './show.ts'
import { type Step, stepStore } from './step-store.ts'

export interface Claim {
  run: RunRow
  output: MessageRow
  /** Events written with the claim, not yet sent to readers. */
  events: Logged[]
  lastSeq: number
  /** Rows that the same transaction already loaded and checked. */
  known?: {
    principal: Principal
    agent: AgentRow | null
    said: Pick<MessageRow, 'id' | 'role' | 'content'>[]
    lineage: readonly RunBudgets[]
  }
}

export interface Ending {
  status: 'completed' | 'failed' | 'cancelled'
  parts: Part[]
  model: string | null
  provider: string | null
  finishReason: string | null
  usage: Usage | null
  cost: Nano | null
  /** Usage of the answer before its last model call. */
  before?: Usage | null
  error: ErrorBody['error'] | null
  /** The error with details for the payer only. */
  payerError?: ErrorBody['error'] | null
  step: Step | null
}

export const numberedEvents = (facts: readonly RunEvent[], lastSeq: number): Logged[] => {
  const at = new Date()
  return facts.map((fact, i) => ({ ...fact, seq: lastSeq + 1 + i, at }))
}

export const startEvents = (run: RunRow, output: MessageRow): RunEvent[] => [
  { type: 'run.started', data: { run: showRun(run) } },
  { type: 'message.started', data: { message: showMessage(output) } },
]

/** Contains IDs and states only, because it goes to everyone who can read the chat. */
export const runEvent = (
  run: Pick<RunRow, 'id' | 'chat_id' | 'workspace_id' | 'status' | 'goal_id' | 'automation_run_id'>,
  verb: string,
): EmittedEvent => ({
  type: `run.${verb}`,
  channels: [`chat:${run.chat_id}`, `workspace:${run.workspace_id}`],
  resource: { type: 'run', id: run.id },
  data: {
    id: run.id,
    chat_id: run.chat_id,
    workspace_id: run.workspace_id,
    status: run.status,
    goal_id: run.goal_id,
    automation_run_id: run.automation_run_id,
  },
})

export const messageEvent = (message: MessageRow, workspaceId: Id, verb: string): EmittedEvent => ({
  type: `message.${verb}`,
  channels: [`chat:${message.chat_id}`, `workspace:${workspaceId}`],
  resource: { type: 'message', id: message.id },
  data: {
    id: message.id,
    chat_id: message.chat_id,
    workspace_id: workspaceId,
    run_id: message.run_id,
    role: message.role,
    status: message.status,
  },
})

const actorOf = ({ account_id, key_id, id, automation_id }: RunRow): Actor => ({
  account_id,
  via: 'server',
  ...(key_id !== null && { key_id }),
  run_id: id,
  ...(automation_id !== null && { automation_id }),
})

/** Queued → running. Null if another process was first. */
export async function claim(db: Db, runId: Id, processId: Id): Promise<Claim | null> {
  const run = await claimStore.start(db, runId, processId)
  if (!run) return null
  const output = await messageStore.setStatus(db, run.output_message_id, 'in_progress')
  const { seq, type } = await eventStore.last(db, runId)
  // A run released before it showed anything already has its start events.
  const events = type === null || isEnd(type) ? numberedEvents(startEvents(run, output), seq) : []
  await eventStore.insert(db, runId, events)
  await writeOutbox(db, runEvent(run, 'started'), actorOf(run))
  return { run, output, events, lastSeq: seq + events.length }
}

export async function claimNext(db: Db, chatId: Id, processId: Id): Promise<Claim | null> {
  const next = await claimStore.next(db, chatId)
  return next === null ? null : claim(db, next, processId)
}

export interface End {
  run: RunRow
  ending: Ending
  lastSeq: number
  begun?: boolean
}
export interface EndResult {
  run: RunRow
  output: MessageRow
  events: Logged[]
}

export async function end(db: Db, one: End): Promise<EndResult | null> {
  const [result] = await endAll(db, [one])
  return result ?? null
}

/**
 * Finishes runs of different chats with as many statements as for one. Keeps their order; null where the claim no
 * longer holds.
 */
export async function endAll(db: Db, ends: readonly End[]): Promise<(EndResult | null)[]> {
  const runs = await claimStore.finish(
    db,
    ends.map(({ run, ending: { status, error, payerError = null, usage, cost } }) => ({
      run,
      status,
      error,
      payer_error: payerError,
      usage: addUsage(run.usage, usage),
      cost,
    })),
  )
  const endedRuns = ends.flatMap(({ run: before, ...end }) => {
    const run = runs.get(before.id)
    return run ? [{ run, ...end }] : []
  })
  if (endedRuns.length === 0) return ends.map(() => null)
  const outputs = await messageStore.finish(
    db,
    endedRuns.map(({ run, ending: { status, parts, ...ending } }) => ({
      id: run.output_message_id,
      status: status === 'cancelled' ? 'incomplete' : status,
      content: parts,
      text: textOf(parts),
      model: ending.model,
      provider: ending.provider,
      finish_reason: ending.finishReason,
      usage: ending.usage && addUsage(ending.before ?? null, ending.usage),
      cost_nano: ending.cost,
    })),
  )
  await stepStore.insertMany(
    db,
    endedRuns.flatMap(({ run, ending: { step } }) => (step ? [{ run, step }] : [])),
  )
  const results = endedRuns.map(({ run, ending, lastSeq, begun = lastSeq > 0 }): EndResult => {
    const output = outputs.get(run.output_message_id)
    if (!output) throw new Error('the answer of a run is gone')
    return { run, output, events: numberedEvents(endingFacts(run, output, ending, begun), lastSeq) }
  })
  await eventStore.insertMany(db, results)
  await writeOutboxEach(
    db,
    results.flatMap(({ run, output }) => {
      const actor = actorOf(run)
      const verb = run.status === 'failed' ? 'failed' : 'completed'
      return [
        { event: messageEvent(output, run.workspace_id, verb), actor },
        { event: runEvent(run, run.status), actor },
      ]
    }),
  )
  const byId = new Map(results.map((result) => [result.run.id, result]))
  return ends.map(({ run }) => byId.get(run.id) ?? null)
}

function endingFacts(run: RunRow, output: MessageRow, { status, error }: Ending, begun: boolean): RunEvent[] {
  const { usage, cost_nano: cost } = output
  const facts: RunEvent[] = []
  if (begun && status !== 'failed') facts.push({ type: 'message.completed', data: { message: showMessage(output) } })
  if (usage !== null) facts.push({ type: 'usage', data: { usage, cost_usd: cost === null ? null : toUsd(cost) } })
  facts.push({ type: `run.${status}`, data: { run: showRun(run), ...(status === 'failed' && { error }) } })
  return facts
}

const NOTHING = {
  parts: [],
  model: null,
  provider: null,
  finishReason: null,
  usage: null,
  cost: null,
  error: null,
  step: null,
}

/** Pauses a run until its calls are decided. Null if the claim no longer holds. */
export async function pause(
  db: Db,
  before: RunRow,
  { pending, parts }: { pending: readonly PendingAction[]; parts: Part[] },
  lastSeq: number,
): Promise<Logged[] | null> {
  const run = await claimStore.pause(db, before, pending)
  if (!run) return null
  await messageStore.keep(db, run.output_message_id, { content: parts })
  const events = numberedEvents([{ type: 'run.requires_action', data: { run: showRun(run) } }], lastSeq)
  await eventStore.insert(db, run.id, events)
  await writeOutbox(db, runEvent(run, 'requires_action'), actorOf(run))
  return events
}

export async function cancelWaiting(db: Db, run: RunRow): Promise<RunRow> {
  const events = await eventStore.all(db, run.id)
  const parts = partsOf(run.output_message_id, events)
  const last = events.at(-1)
  // A queued retry also has the events of earlier attempts.
  const hasStarted = last !== undefined && !isEnd(last.type)
  const ending = { ...NOTHING, status: 'cancelled' as const, parts }
  const result = await end(db, { run, ending, lastSeq: last?.seq ?? 0, begun: hasStarted })
  return result?.run ?? run
}

/** Takes a run from its process and ends it with what readers saw. Null if it had already ended. */
export async function endFromOutside(
  db: Db,
  before: RunRow,
  processId: Id,
  why: { status: 'cancelled' } | { status: 'failed'; error: ErrorBody['error'] },
): Promise<RunRow | null> {
  const run = await claimStore.takeOver(db, before, processId)
  if (!run) return null
  const events = await eventStore.all(db, run.id)
  const ending = { ...NOTHING, ...why, parts: partsOf(run.output_message_id, events) }
  return (await end(db, { run, ending, lastSeq: events.at(-1)?.seq ?? 0 }))?.run ?? null
}
