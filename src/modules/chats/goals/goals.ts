import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { nanoOrNull } from '#core/money.ts'
import { behalfOf } from '#core/principal.ts'
import { chooseModel } from '../agent/choose-model.ts'
import { stopAll } from '../commands/stop.ts'
import { lockActiveChat } from '../lock.ts'
import { type GoalRow, goalStore } from './goal-store.ts'
import { pursueSoon } from './pursue.ts'
import { runStore } from '../runs/run-store.ts'
import type { ChatHandles } from '../worker/runs.ts'
import { type ChatRow, chatStore } from '../store.ts'
import { goalEvent, showGoal } from './show.ts'

interface Caps {
  max_turns?: number | undefined
  max_cost_usd?: number | undefined
  max_duration_seconds?: number | undefined
}
interface GoalInput extends Caps {
  objective: string
  criteria?: string | null | undefined
  model?: string | undefined
  judge_model?: string | undefined
  max_turns: number
}

const showWithSpend = async (ctx: Pick<Context, 'db'>, goal: GoalRow) =>
  showGoal(goal, await goalStore.spent(ctx.db, goal))

export async function startGoal(outer: Context<ChatHandles>, { id: chatId, workspace_id }: ChatRow, input: GoalInput) {
  // Rejects unusable models now instead of in the first turn.
  for (const model of [input.model, input.judge_model])
    if (model !== undefined) await chooseModel(outer, [model], workspace_id)
  return outer.transaction(async (ctx) => {
    const locked = await lockActiveChat(ctx, chatId)
    const activeGoal = await goalStore.active(ctx.db, locked.id)
    if (activeGoal)
      refuse('invalid_state', {
        message: 'This chat already has an active goal. End it before you start another.',
        details: { status: 'active', allowed: ['end'], goal_id: activeGoal.id },
      })
    const goal = await goalStore.insert(ctx.db, {
      ...behalfOf(ctx.principal),
      id: newId(),
      chat_id: locked.id,
      workspace_id: locked.workspace_id,
      objective: input.objective,
      criteria: input.criteria ?? null,
      model: input.model ?? null,
      judge_model: input.judge_model ?? null,
      max_turns: input.max_turns,
      max_cost_nano: nanoOrNull(input.max_cost_usd ?? null),
      max_duration_seconds: input.max_duration_seconds ?? null,
      active_since: ctx.now(),
    })
    await pursueSoon(ctx, goal.id)
    await ctx.emit(goalEvent(goal, 'started'))
    return showWithSpend(ctx, goal)
  })
}

const noGoal = () => refuse('not_found', { message: 'The active branch of this chat has no goal.' })

export const readGoal = async (ctx: Context, chat: ChatRow) => (await goalOrNone(ctx, chat)) ?? noGoal()

export async function goalOrNone(ctx: Context, { id }: ChatRow) {
  const goal = await goalStore.governing(ctx.db, id)
  return goal ? showWithSpend(ctx, goal) : null
}

export async function endGoalOf(outer: Context<ChatHandles>, { id: chatId }: ChatRow) {
  const [goal, running] = await outer.transaction(async (ctx) => {
    if ((await chatStore.lock(ctx.db, chatId)) === null) refuse('not_found', { param: 'id' })
    const active = await goalStore.active(ctx.db, chatId)
    if (!active) {
      const lastGoal = (await goalStore.governing(ctx.db, chatId)) ?? noGoal()
      if (lastGoal.status === 'ended') return [lastGoal, []] as const
      return refuse('invalid_state', {
        message: `The goal has already ended. Its status is ${lastGoal.status}.`,
        details: {
          status: lastGoal.status,
          allowed: lastGoal.status === 'exhausted' || lastGoal.status === 'stalled' ? ['resume'] : [],
        },
      })
    }
    const endedGoal = (await goalStore.finish(ctx.db, active.id, 'ended'))!
    await ctx.emit(goalEvent(endedGoal, 'ended'))
    const turn = (await runStore.unfinished(ctx.db, chatId)).filter(({ goal_id }) => goal_id === active.id)
    return [endedGoal, await stopAll(ctx, turn)] as const
  })
  outer.engine.runs.stop(running.map(({ id }) => id))
  outer.engine.runs.wake()
  return { id: goal.id }
}

/** The caller who resumes a goal pays for it from then on. */
export function resumeGoal(outer: Context, { id: chatId }: ChatRow, caps: Caps) {
  return outer.transaction(async (ctx) => {
    await lockActiveChat(ctx, chatId)
    const goal = (await goalStore.governing(ctx.db, chatId)) ?? noGoal()
    if (goal.status !== 'exhausted' && goal.status !== 'stalled')
      refuse('invalid_state', {
        message: `Only exhausted or stalled goals can be resumed. The status of this goal is ${goal.status}.`,
        details: { status: goal.status, allowed: goal.status === 'active' ? ['end'] : [] },
      })
    const bigger = biggerCaps(goal, caps)
    const other = await goalStore.active(ctx.db, chatId)
    if (other)
      refuse('invalid_state', {
        message: 'Another goal is already active.',
        details: { status: 'active', allowed: [] },
      })
    const resumed = (await goalStore.resume(ctx.db, goal.id, { ...behalfOf(ctx.principal), ...bigger })) ?? noGoal()
    await pursueSoon(ctx, resumed.id)
    await ctx.emit(goalEvent(resumed, 'resumed'))
    return showWithSpend(ctx, resumed)
  })
}

const CAP_OF = { turns: 'max_turns', cost: 'max_cost_usd', time: 'max_duration_seconds' } as const

/** Checks the caps for a resume: each must be larger than before, and the exhausted one is required. */
function biggerCaps(goal: GoalRow, { max_turns, max_cost_usd, max_duration_seconds }: Caps) {
  const cost = max_cost_usd === undefined ? undefined : nanoOrNull(max_cost_usd)!
  const requiredParam = goal.exhausted_by === null ? null : CAP_OF[goal.exhausted_by]
  const newCaps = [
    ['max_turns', max_turns, goal.max_turns],
    ['max_cost_usd', cost, goal.max_cost_nano],
    ['max_duration_seconds', max_duration_seconds, goal.max_duration_seconds],
  ] as const
  for (const [param, cap, previousCap] of newCaps) {
    if (cap === undefined) {
      if (param === requiredParam)
        refuse('missing_parameter', {
          param,
          message: `The goal was exhausted by this limit. Send a higher \`${param}\`.`,
        })
    } else if (previousCap !== null && cap <= previousCap)
      refuse('invalid_parameter', { param, message: `\`${param}\` must be higher than before.` })
  }
  if (newCaps.every(([, cap]) => cap === undefined))
    refuse('missing_parameter', { param: 'max_turns', message: 'Send a higher limit for turns, cost or time.' })
  return {
    max_turns: max_turns ?? goal.max_turns,
    max_cost_nano: cost ?? goal.max_cost_nano,
    max_duration_seconds: max_duration_seconds ?? goal.max_duration_seconds,
  }
}
