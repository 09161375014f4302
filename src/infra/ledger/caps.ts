import type { Id } from '#core/ids.ts'
import type { Budget, Nano } from '#core/money.ts'
import { type Period, periodKey } from '#core/time.ts'
import type { Billing } from '#core/usage.ts'
import type { MeteredCall, Payer } from './ledger.ts'

/** A cap that a call must fit under: what `subject` may spend in the period with this key. */
export interface CallCap {
  subject: Id
  period: string
  cap: Nano
  /** The subject whose cap it is. */
  of: 'key' | Budget['kind']
}

/**
 * Whether a call is held before it is sent. A run's always is: it outlives the process that makes its call, and so must
 * what the call cost.
 */
export const isReserved = (payer: Payer, billing: Billing): boolean =>
  payer.runId !== undefined || isGuarded(payer, billing)

/** A call that the instance pays the provider for, on an account whose balance counts. */
export const drawsBalance = (payer: Payer, billing: Billing): boolean =>
  payer.tier === 'standard' && billing === 'credits'

export const isGuarded = (payer: Payer, billing: Billing): boolean =>
  drawsBalance(payer, billing) || (payer.key !== null && payer.key.cap !== null) || capsIn(payer).length > 0

const none: readonly (Budget & { nano: Nano })[] = []
const capsIn = ({ budgets }: Payer): readonly (Budget & { nano: Nano })[] =>
  budgets === undefined ? none : budgets.filter((budget): budget is Budget & { nano: Nano } => budget.nano !== null)

/** The caps over a call that is reserved at `at`: it counts in the periods of that moment. */
export function capsOf(payer: Payer, at: Date): CallCap[] {
  const { key } = payer
  const caps: CallCap[] = []
  if (key !== null && key.cap !== null)
    caps.push({ subject: key.id, period: periodKey(key.cap.period, at), cap: key.cap.nano, of: 'key' })
  for (const { kind, subject, period, nano } of capsIn(payer))
    caps.push({ subject, period: periodKey(period, at), cap: nano, of: kind })
  return caps
}

/** The subjects that a call's cost is added to: a key in every period, so that a cap set later knows what was spent; a
 * budget in its own. Workspaces and members of teams are added up by the database, in every period and whether they have a
 * budget or not.
 */
export function spendSubjectsOf({ payer: { key, budgets = [] }, startedAt }: MeteredCall): {
  subjects: Id[]
  periods: string[]
} {
  const subjects: Id[] = []
  const periods: string[] = []
  const count = (subject: Id, period: Period) => {
    subjects.push(subject)
    periods.push(periodKey(period, startedAt))
  }
  if (key !== null) for (const period of ['day', 'week', 'month', 'total'] as const) count(key.id, period)
  for (const { kind, subject, period } of budgets) if (kind !== 'workspace' && kind !== 'member') count(subject, period)
  return { subjects, periods }
}
