import type { Turn } from '../turn.ts'

export type Effort = NonNullable<NonNullable<Turn['reasoning']>['effort']>

/** Thinking budgets in bands, where a vendor knows only efforts. */
export function effortOfBudget(tokens: number): Effort {
  if (tokens === 0) return 'none'
  if (tokens <= 4096) return 'low'
  return tokens <= 16_384 ? 'medium' : 'high'
}
