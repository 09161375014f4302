/** The goal loop: turn, evaluation, next turn. Each step is saved before the next, so another process can continue. */
import type { Context, Engine } from '#infra/context.ts'
import type { Consumer } from '#infra/outbox/deliveries.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import { type ErrorBody, Refusal, errorBody, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkWritable } from '#authz/place.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import { accept } from '../commands/accept.ts'
import { placeNow } from '../runs/acting.ts'
import { type GoalRow, goalStore } from './goal-store.ts'
import { logSettledStep } from '../runs/interrupted.ts'
import { hashOf, judge } from './judge.ts'
import { messageStore } from '../messages/message-store.ts'
import { type Part, finalText } from '../messages/parts.ts'
import { type RunRow, runStore } from '../runs/run-store.ts'
import { stepStore } from '../runs/step-store.ts'
import { stopRun } from '../commands/stop.ts'
import { chatStore } from '../store.ts'
import { goalEvent } from './show.ts'
import type { ChatHandles } from '../worker/runs.ts'

const JOB = 'chats.goal'
const MAX_IDLE = 3
const JUDGE_MS = 240_000
const SWEEP_SECONDS = 2

const FATAL = new Set([
  'insufficient_credits',
  'spend_cap_reached',
  'budget_reached',
  'unpriced_model',
  'not_found',
  'insufficient_role',
  'missing_scope',
  'invalid_state',
  'limit_reached',
])

export const pursueSoon = (ctx: Pick<Context, 'db' | 'engine'>, id: Id): Promise<void> =>
  ctx.engine.jobs.add(ctx, JOB, { id }, { key: `${JOB}:${id}` })

export const goalConsumer = (engine: Engine): Consumer => ({
  name: 'chats.goals',
  types: ['run.completed', 'run.failed', 'run.cancelled'],
  sift:
    async () =>
    ({ data }) =>
      data.goal_id !== null,
  async handle({ resource_id }) {
    const { db } = engine.postgres
    const [run] = await runStore.byIds(db, [resource_id as Id])
    if (run?.goal_id) await pursueSoon({ db, engine }, run.goal_id)
  },
})

export const goalJobs = (engine: Engine<ChatHandles>): Record<string, JobHandler> => ({
  [JOB]: ({ id }: { id: Id }, { signal }) => pursue(engine, id, signal),
})

/** Resumes goals whose job was lost, and ends those whose time is up. */
export const goalSchedules = (engine: Engine): Schedule[] => [
  every('chats.goals', SWEEP_SECONDS, async () => {
    const { db } = engine.postgres
    for (const id of await goalStore.waiting(db)) await pursueSoon({ db, engine }, id)
  }),
]

async function pursue(engine: Engine<ChatHandles>, id: Id, signal: AbortSignal): Promise<void> {
  const { db } = engine.postgres
  const claimed = await goalStore.claim(db, id, engine.processId)
  if (!claimed) return
  try {
    const goal = claimed.run_id === null ? claimed : await processTurn(engine, claimed, signal)
    if (goal) await startNextTurn(engine, goal, signal)
  } finally {
    await goalStore.release(db, claimed)
    engine.bus.poke('outbox')
  }
}

const isLate = ({ max_duration_seconds: most, seconds_used, active_since }: GoalRow): boolean =>
  most !== null && seconds_used + (Date.now() - active_since.getTime()) / 1000 >= most

/** Processes a finished turn. Returns the goal if it continues, null if it ended or the turn is still running. */
async function processTurn(engine: Engine<ChatHandles>, goal: GoalRow, signal: AbortSignal): Promise<GoalRow | null> {
  const run = await runStore.get(engine.postgres.db, goal.chat_id, goal.run_id!)
  if (!run) return endGoal(engine, goal, 'ended')
  switch (run.status) {
    case 'queued':
    case 'running':
    case 'requires_action':
      if (isLate(goal)) {
        await endGoal(engine, goal, 'exhausted', { exhausted_by: 'time' })
        await stopRun(engine, goal.chat_id, run.id)
      }
      return null
    case 'cancelled':
      return endGoal(engine, goal, 'ended')
    case 'failed':
      return handleFailedTurn(engine, goal, run.error!)
    case 'completed':
      return judgedTurn(engine, goal, run, signal)
  }
}

/** A failed turn counts as one without progress, unless the server stopped or the error is fatal. */
async function handleFailedTurn(engine: Engine, goal: GoalRow, error: ErrorBody['error']): Promise<GoalRow | null> {
  const code = error.code ?? error.type
  if (code === 'budget_reached' && error.details?.['budget'] === 'goal')
    return endGoal(engine, goal, 'exhausted', { exhausted_by: 'cost' })
  if (FATAL.has(code)) return endGoal(engine, goal, 'failed', { error: JSON.stringify(error) })
  if (code === 'interrupted') return recordAttempt(engine, goal, { progress: true, feedback: goal.last_feedback })
  return recordAttempt(engine, goal, { progress: false, feedback: error.message })
}

async function judgedTurn(
  engine: Engine<ChatHandles>,
  goal: GoalRow,
  run: RunRow,
  signal: AbortSignal,
): Promise<GoalRow | null> {
  const { db } = engine.postgres
  // Records a judge's call that a dead process paid for.
  await db.transaction().execute((tx) => logSettledStep(tx, run))
  const [message, path] = await Promise.all([
    messageStore.get(db, goal.chat_id, run.output_message_id),
    messageStore.said(engine.postgres, run.output_message_id),
  ])
  if (!message) return endGoal(engine, goal, 'ended')
  const answerText = finalText(message.content)
  const startedAt = new Date()
  const model = goal.judge_model ?? goal.model ?? run.model
  try {
    const ctx = await actingFor(engine, goal, AbortSignal.any([signal, AbortSignal.timeout(JUDGE_MS)]))
    const { verdict, served, request } = await judge(ctx, goal, run, { path, answer: answerText, model })
    const answer = hashOf(answerText)
    // A repeated answer doesn't count as progress, even if the judge says it does.
    const progress = verdict.progress && answer !== goal.last_answer
    // The ledger settles a call before its step is saved, as in runs.
    await engine.ledger.flush()
    return await db.transaction().execute(async (tx) => {
      const judgedGoal = await goalStore.step(tx, goal, {
        judge_nano: goal.judge_nano + (served?.cost ?? 0n),
        last_answer: answer,
        last_feedback: verdict.feedback,
      })
      if (!judgedGoal) return null
      await stepStore.insert(tx, run, {
        kind: 'evaluation',
        name: served?.model ?? model,
        status: 'completed',
        idempotent: true,
        result: {
          call_id: served?.id ?? null,
          model: served?.model ?? model,
          provider: served?.provider ?? null,
          usage: served?.usage ?? null,
          ...verdict,
        },
        error: null,
        cost_nano: served?.cost ?? null,
        started_at: startedAt,
        request,
      })
      if (verdict.achieved) return finishGoal(tx, judgedGoal, 'achieved')
      return recordAttemptIn(tx, judgedGoal, { progress, feedback: verdict.feedback })
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { error: body } = errorBody(error)
    return handleFailedTurn(engine, goal, { ...body, message: `The judge’s model call failed: ${body.message}` })
  }
}

type Tx = Engine['postgres']['db']
interface Attempt {
  progress: boolean
  feedback: string | null
}

const recordAttempt = (engine: Engine, goal: GoalRow, attempt: Attempt): Promise<GoalRow | null> =>
  engine.postgres.db.transaction().execute((tx) => recordAttemptIn(tx, goal, attempt))

async function recordAttemptIn(tx: Tx, goal: GoalRow, { progress, feedback }: Attempt): Promise<GoalRow | null> {
  const idle = progress ? 0 : goal.without_progress + 1
  const nextGoal = await goalStore.step(tx, goal, { run_id: null, without_progress: idle, last_feedback: feedback })
  if (!nextGoal) return null
  if (idle >= MAX_IDLE) return finishGoal(tx, nextGoal, 'stalled')
  await writeOutbox(tx, goalEvent(nextGoal, 'progressed'), null)
  return nextGoal
}

async function finishGoal(
  tx: Tx,
  goal: GoalRow,
  ...how: [Parameters<typeof goalStore.finish>[2], Why?]
): Promise<null> {
  const endedGoal = await goalStore.finish(tx, goal.id, ...how)
  if (endedGoal) await writeOutbox(tx, goalEvent(endedGoal, endedGoal.status), null)
  return null
}
type Why = Parameters<typeof goalStore.finish>[3]

export const endGoal = (
  engine: Pick<Engine, 'postgres'>,
  goal: GoalRow,
  ...how: [Parameters<typeof goalStore.finish>[2], Why?]
): Promise<null> => engine.postgres.db.transaction().execute((tx) => finishGoal(tx, goal, ...how))

async function startNextTurn(engine: Engine<ChatHandles>, goal: GoalRow, signal: AbortSignal): Promise<void> {
  const { db } = engine.postgres
  const exhaustedBy =
    goal.turns_used >= goal.max_turns
      ? 'turns'
      : isLate(goal)
        ? 'time'
        : goal.max_cost_nano !== null && (await goalStore.spent(db, goal)) >= goal.max_cost_nano
          ? 'cost'
          : null
  if (exhaustedBy !== null) return void (await endGoal(engine, goal, 'exhausted', { exhausted_by: exhaustedBy }))
  try {
    const ctx = await actingFor(engine, goal, signal)
    // A current turn continues, but a new one needs write access.
    checkWritable(await placeNow(ctx, goal))
    await ctx.transaction(async (ctx) => {
      const chat = (await chatStore.get(ctx.db, goal.chat_id)) ?? refuse('not_found')
      const run = await accept(ctx, chat, {
        content: wordsOf(goal),
        on_busy: 'enqueue',
        goalId: goal.id,
        ...(goal.model !== null && { model: goal.model }),
      })
      const startedGoal = await goalStore.step(ctx.db, goal, {
        run_id: run.id,
        turns_used: goal.turns_used + 1,
        first_message_id: goal.first_message_id ?? run.input_message_id,
      })
      if (!startedGoal) throw new LostError()
      await ctx.emit(goalEvent(startedGoal, 'progressed'))
    })
  } catch (error) {
    if (error instanceof LostError) return
    if (!(error instanceof Refusal)) throw error
    await endGoal(engine, goal, 'failed', { error: JSON.stringify(errorBody(error).error) })
  }
}

/** The goal ended or was taken over during the turn's transaction. Rolls the turn back. */
class LostError extends Error {}

async function actingFor<H>(engine: Engine<H>, goal: GoalRow, signal: AbortSignal): Promise<Context<H>> {
  const ctx = await engine.actAs({
    accountId: goal.account_id,
    scopes: goal.scopes ?? allScopes,
    workspaceId: goal.held_to,
    payingKeyId: goal.key_id,
    signal,
  })
  return ctx ?? refuse('not_found', { message: 'The account or API key that set this goal no longer exists.' })
}

const wordsOf = ({ objective, criteria, last_feedback, turns_used }: GoalRow): Part[] => {
  const measure = criteria === null ? [] : ['\n\nIt’s achieved when:\n\n', criteria]
  const words =
    turns_used === 0
      ? [objective, ...measure]
      : [
          'Continue working toward the goal:\n\n',
          objective,
          ...measure,
          ...(last_feedback === null || last_feedback === '' ? [] : ['\n\nWhat is missing:\n\n', last_feedback]),
        ]
  return words.map((text) => ({ type: 'text', text }))
}
