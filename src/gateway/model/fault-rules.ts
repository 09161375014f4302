import type { FaultKind, UpstreamFault } from './canonical-request.ts'

export interface Rule {
  /**
   * Which other candidates may succeed: `anybody`, `roomier` (a larger context or another model), or only `another
   * model`.
   */
  elsewhere: 'anybody' | 'roomier' | 'another model'
  /** Retries at the same provider after all candidates were tried. Only faults without charges are retried. */
  again: number
  /** How long to avoid the provider if its answer has no delay; 0: it isn't at fault. */
  asideMs: number
  /** True for temporary faults: a later retry may succeed. Others need someone to act first. */
  passes: boolean
  of: 'model' | 'endpoint'
}

const SECOND = 1_000
const MINUTE = 60 * SECOND

export const rules: Readonly<Record<FaultKind, Rule>> = {
  bad_request: { elsewhere: 'another model', again: 0, asideMs: 0, passes: false, of: 'model' },
  context_length: { elsewhere: 'roomier', again: 0, asideMs: 0, passes: false, of: 'model' },
  too_large: { elsewhere: 'another model', again: 0, asideMs: 0, passes: false, of: 'model' },
  rate_limited: { elsewhere: 'anybody', again: 2, asideMs: 30 * SECOND, passes: true, of: 'model' },
  overloaded: { elsewhere: 'anybody', again: 2, asideMs: 30 * SECOND, passes: true, of: 'model' },
  server_error: { elsewhere: 'anybody', again: 1, asideMs: 30 * SECOND, passes: true, of: 'model' },
  unreachable: { elsewhere: 'anybody', again: 1, asideMs: 30 * SECOND, passes: true, of: 'endpoint' },
  // The provider may still be working on the first attempt.
  timeout: { elsewhere: 'anybody', again: 0, asideMs: 30 * SECOND, passes: true, of: 'model' },
  garbage: { elsewhere: 'anybody', again: 0, asideMs: 30 * SECOND, passes: true, of: 'model' },
  model_not_found: { elsewhere: 'anybody', again: 0, asideMs: 2 * MINUTE, passes: false, of: 'model' },
  // Requested by the endpoint's owner; the provider isn't at fault.
  withdrawn: { elsewhere: 'anybody', again: 0, asideMs: 0, passes: false, of: 'endpoint' },
  upstream_key: { elsewhere: 'anybody', again: 0, asideMs: 5 * MINUTE, passes: false, of: 'endpoint' },
  upstream_payment: { elsewhere: 'anybody', again: 0, asideMs: 5 * MINUTE, passes: false, of: 'endpoint' },
}

/** Maximum: a provider that asks for a longer pause is still retried after this. */
const LONGEST_ASIDE_MS = 15 * MINUTE

export function asideFor({ kind, retry_after_seconds: seconds }: UpstreamFault): number {
  const { asideMs } = rules[kind]
  return asideMs === 0 || seconds === undefined ? asideMs : Math.min(LONGEST_ASIDE_MS, seconds * SECOND)
}

export const passes = ({ kind, lasts }: UpstreamFault): boolean => rules[kind].passes && lasts !== true

export const isRetryable = ({ kind }: UpstreamFault): boolean => rules[kind].elsewhere === 'anybody'

export const DEADLINE_MS = 20 * SECOND
const FIRST_WAIT_MS = 200
export const LONGEST_WAIT_MS = 4 * SECOND

/**
 * Full jitter: a random delay below a bound that doubles each round (Brooker, "Exponential Backoff and Jitter", 2015).
 * `chance` is 0–1.
 */
export const backoff = (round: number, chance: number): number =>
  chance * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** round)
