import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import { periodKey } from '#kernel/time.ts'
import type { Billing } from '#kernel/usage.ts'
import type { MeteredCall, Payer } from './ledger.ts'

/** A cap that a call must fit under: what `subject` may spend in the period with this key. */
export interface Hold {
  subject: Id
  period: string
  cap: Nano
  code: 'spend_cap_reached' | 'budget_reached'
}

/** A call that the instance pays the provider for, on an account whose balance counts. */
export const draws = (payer: Payer, billing: Billing): boolean => payer.tier === 'standard' && billing === 'credits'

export const guards = (payer: Payer, billing: Billing): boolean =>
  draws(payer, billing) || (payer.key !== null && payer.key.cap !== null) || (payer.budgets ?? []).length > 0

/** The caps over a call that is reserved at `at`: it counts in the periods of that moment. */
export function holdsOf({ key, budgets = [] }: Payer, at: Date): Hold[] {
  const holds: Hold[] = []
  if (key !== null && key.cap !== null)
    holds.push({ subject: key.id, period: periodKey(key.cap.period, at), cap: key.cap.nano, code: 'spend_cap_reached' })
  for (const { subject, period, nano } of budgets)
    holds.push({ subject, period: periodKey(period, at), cap: nano, code: 'budget_reached' })
  return holds
}

/** Where the cost of a call is added up: a key in every period, so that a cap set later knows what was spent; a budget in its own. */
export function countedIn({ payer: { key, budgets = [] }, startedAt }: MeteredCall): {
  subjects: Id[]
  periods: string[]
} {
  const subjects: Id[] = []
  const periods: string[] = []
  const count = (subject: Id, period: 'day' | 'week' | 'month' | 'total') => {
    subjects.push(subject)
    periods.push(periodKey(period, startedAt))
  }
  if (key !== null) for (const period of ['day', 'week', 'month', 'total'] as const) count(key.id, period)
  for (const { subject, period } of budgets) count(subject, period)
  return { subjects, periods }
}
