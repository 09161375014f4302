import type { FaultKind, UpstreamFault } from './canonical-request.ts'

/** The rule of what is done about a kind of fault. */
export interface Rule {
  /** The others that may do better: `anybody`, `roomier` (a larger context or another model), only `another model`. */
  elsewhere: 'anybody' | 'roomier' | 'another model'
  /** The number of times that the same provider is asked again, once everybody was asked. Only what was not charged for is repeated. */
  again: number
  /** The time that it is set aside where it does not say so itself; 0: the provider is not at fault. */
  asideMs: number
  /** Whether time heals it: then whoever asks again later may be served. Else somebody has to do something first. */
  passes: boolean
  /** The scope of the fault: this model there, or whatever the endpoint serves. */
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
  // It may be at work on the first one still.
  timeout: { elsewhere: 'anybody', again: 0, asideMs: 30 * SECOND, passes: true, of: 'model' },
  garbage: { elsewhere: 'anybody', again: 0, asideMs: 30 * SECOND, passes: true, of: 'model' },
  model_not_found: { elsewhere: 'anybody', again: 0, asideMs: 2 * MINUTE, passes: false, of: 'model' },
  // The endpoint's owner wants it so, and the provider is not at fault.
  withdrawn: { elsewhere: 'anybody', again: 0, asideMs: 0, passes: false, of: 'endpoint' },
  // Somebody has to do something about these first.
  upstream_key: { elsewhere: 'anybody', again: 0, asideMs: 5 * MINUTE, passes: false, of: 'endpoint' },
  upstream_payment: { elsewhere: 'anybody', again: 0, asideMs: 5 * MINUTE, passes: false, of: 'endpoint' },
}

/** The longest wait: a provider that wants to be left alone for longer is asked again after this all the same. */
const LONGEST_ASIDE_MS = 15 * MINUTE

/** The time that a provider is set aside for this fault: as long as it says where it says so. */
export function asideFor({ kind, retry_after_seconds: seconds }: UpstreamFault): number {
  const { asideMs } = rules[kind]
  return asideMs === 0 || seconds === undefined ? asideMs : Math.min(LONGEST_ASIDE_MS, seconds * SECOND)
}

/** Whether the same request may be served later without anybody doing anything about it. */
export const passes = ({ kind, lasts }: UpstreamFault): boolean => rules[kind].passes && lasts !== true

/** Whether another provider of the same model may do better. */
export const isRetryable = ({ kind }: UpstreamFault): boolean => rules[kind].elsewhere === 'anybody'

/** The last moment at which a further attempt begins, counted from the first. */
export const DEADLINE_MS = 20 * SECOND
const FIRST_WAIT_MS = 200
/** Longer waits are the client's, who is told how long they are. */
export const LONGEST_WAIT_MS = 4 * SECOND

/** Full jitter: anything up to a bound that doubles (Brooker, "Exponential Backoff and Jitter", 2015). `chance` is 0–1. */
export const backoff = (round: number, chance: number): number =>
  chance * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** round)
