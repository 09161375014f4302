import type { Budget } from '#engine/ledger/ledger.ts'
import type { GoalRow } from './goal-store.ts'
import type { RunRow } from './run-store.ts'

/** The caps over a call of a run: its own, and that of the goal it is a turn of. */
export const budgetsOf = (
  run: Pick<RunRow, 'id' | 'budget_nano'> | null,
  goal: Pick<GoalRow, 'id' | 'max_cost_nano'> | null | undefined,
): Budget[] => [
  ...(run !== null && run.budget_nano !== null
    ? [{ kind: 'run' as const, subject: run.id, nano: run.budget_nano, period: 'total' as const }]
    : []),
  ...(goal ? [{ kind: 'goal' as const, subject: goal.id, nano: goal.max_cost_nano, period: 'total' as const }] : []),
]
