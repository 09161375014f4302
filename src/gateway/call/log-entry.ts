import type { LoggedRequest, ProviderAttempt } from '#infra/request-log/request-log.ts'
import type { Loss } from '../model/canonical-request.ts'
import { type FaultWords, askerOf, faultWords } from '../request/logged.ts'
import type { Attempt } from './attempt.ts'
import type { CallRequest } from './handler.ts'

export interface Past {
  attempt: Attempt
  outcome: Exclude<ProviderAttempt['outcome'], 'answered'>
  why: unknown
  at: number
}

export type Ending = { status: 'succeeded' | 'cancelled' } | { status: 'failed'; failure: unknown }

type EndedCall = Ending & { last: Attempt | null; past: readonly Past[]; losses: readonly Loss[] }

const outcomes = { succeeded: 'answered', failed: 'failed', cancelled: 'left' } as const

export function callEntry(request: CallRequest, { last, past, losses, ...ending }: EndedCall): LoggedRequest {
  const failure = ending.status === 'failed' ? faultWords(ending.failure) : null
  const attempts = past.map(({ attempt, outcome, why, at }) =>
    triedBy(attempt, outcome, why === null ? null : faultWords(why), at),
  )
  if (last !== null && !past.some(({ attempt }) => attempt === last))
    attempts.push(triedBy(last, outcomes[ending.status], failure, performance.now()))
  return {
    ...askerOf(request),
    streamed: request.streaming,
    model: last?.offer.slug ?? null,
    provider: last?.offer.endpoint.slug ?? null,
    status: ending.status,
    http_status: ending.status === 'succeeded' ? 200 : (failure?.answered ?? null),
    error_code: failure?.code ?? null,
    error_message: failure?.message ?? null,
    losses,
    tried: attempts,
  }
}

const triedBy = (
  { id, candidate: { offer, reason }, startedAt }: Attempt,
  outcome: ProviderAttempt['outcome'],
  words: FaultWords | null,
  at: number,
): ProviderAttempt => ({
  call_id: id,
  provider: offer.endpoint.slug,
  model: offer.slug,
  why: reason,
  outcome,
  status: words?.status ?? null,
  message: words?.message ?? null,
  duration_ms: Math.max(0, Math.round(at - startedAt)),
})
