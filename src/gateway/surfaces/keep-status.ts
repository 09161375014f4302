import { Refusal } from '#core/errors.ts'
import type { ErrorAnswer } from '../wire/problem.ts'

/** HTTP itself defines these statuses, so they stay. */
const KEPT: ReadonlySet<number> = new Set([405, 415, 503])

export function keepStatus(answer: ErrorAnswer, failure: unknown): ErrorAnswer {
  if (!(failure instanceof Refusal) || !KEPT.has(failure.status) || failure.code === 'no_route') return answer
  return { ...answer, status: failure.status }
}
