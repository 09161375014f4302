import type { z } from 'zod'
import type { EmittedEvent } from '#infra/outbox/outbox.ts'
import { type Nano, toUsd, usdOrNull } from '#core/money.ts'
import { iso, isoOrNull } from '#core/time.ts'
import type { Goal } from '../contract-goals.ts'
import type { GoalRow } from './goal-store.ts'

export const showGoal = (row: GoalRow, spent: Nano): z.output<typeof Goal> => ({
  id: row.id,
  chat_id: row.chat_id,
  workspace_id: row.workspace_id,
  created_by: row.account_id,
  status: row.status,
  objective: row.objective,
  criteria: row.criteria,
  model: row.model,
  judge_model: row.judge_model,
  max_turns: row.max_turns,
  max_cost_usd: usdOrNull(row.max_cost_nano),
  max_duration_seconds: row.max_duration_seconds,
  turns_used: row.turns_used,
  spent_usd: toUsd(spent),
  exhausted_by: row.exhausted_by,
  last_feedback: row.last_feedback,
  run_id: row.run_id,
  error: row.error,
  completed_at: isoOrNull(row.completed_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Contains IDs, state and numbers only, because it goes to everyone who can read the chat. */
export const goalEvent = (goal: GoalRow, verb: string): EmittedEvent => ({
  type: `goal.${verb}`,
  channels: [`chat:${goal.chat_id}`, `workspace:${goal.workspace_id}`],
  resource: { type: 'goal', id: goal.id },
  data: {
    id: goal.id,
    chat_id: goal.chat_id,
    workspace_id: goal.workspace_id,
    status: goal.status,
    turns_used: goal.turns_used,
    max_turns: goal.max_turns,
    exhausted_by: goal.exhausted_by,
    run_id: goal.run_id,
  },
})
