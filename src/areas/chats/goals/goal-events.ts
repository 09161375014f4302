import type { Emitted } from '#engine/context.ts'
import type { GoalRow } from './goal-store.ts'

/** Told to whoever may read the chat: ids, state and figures, no words. */
export const goalEvent = (goal: GoalRow, verb: string): Emitted => ({
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
