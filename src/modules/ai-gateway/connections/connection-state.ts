import type { FaultKind, UpstreamFault } from '#gateway/model/canonical-request.ts'
import { rules } from '#gateway/model/fault-rules.ts'
import type { CallOutcome } from '#gateway/routing/health.ts'
import { faultWords } from '#gateway/routing/explain.ts'

/**
 * `no_list`: responds without a model list. `unproven`: rejected requests, but lists models, which may not require a
 * key.
 */
export type Reason = FaultKind | 'no_list' | 'unproven'

export interface ConnectionState {
  status: 'untested' | 'working' | 'failing'
  reason: Reason | null
  /** Seen in a request rather than in a test. */
  seenInCall: boolean
  /** The provider's message without secrets. Shown only to the endpoint's administrators. */
  lastError: string | null
  lastErrorKind: Reason | null
  lastErrorAt: Date | null
  lastSuccessAt: Date | null
  /** Time to the first byte of the last success, in ms. */
  latencyMs: number | null
  modelsCount: number | null
  failures: number
  nextTestAt: Date | null
  observedAt: Date
}

export interface Standing {
  state: ConnectionState | null
  modelsCount: number | null
}

export type TestOutcome =
  | {
      ok: true
      latencyMs: number
      models: number | null
      /** Only a valid key leads to this result. */
      provesKey: boolean
    }
  | { ok: false; latencyMs: number; kind: Reason; message: string }

export const untestedState = (now: Date): ConnectionState => ({
  status: 'untested',
  reason: null,
  seenInCall: false,
  lastError: null,
  lastErrorKind: null,
  lastErrorAt: null,
  lastSuccessAt: null,
  latencyMs: null,
  modelsCount: null,
  failures: 0,
  nextTestAt: null,
  observedAt: now,
})

const SECOND = 1_000
/** How often an unchanged state is written, in ms. */
export const WRITE_INTERVAL_MS = 60 * SECOND
/** Consecutive unreachable requests that mark an endpoint as failing. Fewer may be a network glitch. */
const UNREACHABLE_LIMIT = 3
/** A 403 may concern one request only, so it's ignored this soon after a success. */
const RECENT_SUCCESS_MS = 60 * SECOND
const FIRST_TEST_MS = 30 * SECOND
const LONGEST_TEST_MS = 15 * 60 * SECOND

/** How long another process's success counts: twice the interval at which it's written. */
const OTHER_SUCCESS_MS = 2 * WRITE_INTERVAL_MS
/** How long to wait for another process's success, which is written at once after an error. */
const OTHER_SUCCESS_WAIT_MS = 5 * SECOND

/**
 * True if another process reaches the provider, so the fault is local. `own`: this process's last recorded success.
 * `since`: its first consecutive failure.
 */
export function servesElsewhere(
  { lastSuccessAt }: Pick<ConnectionState, 'lastSuccessAt'>,
  own: Date | null,
  since: Date,
  now: Date,
): boolean {
  if (lastSuccessAt === null || isOlder(lastSuccessAt, OTHER_SUCCESS_MS, now)) return false
  if (own !== null && lastSuccessAt <= own) return false
  return lastSuccessAt > since || !isOlder(since, OTHER_SUCCESS_WAIT_MS, now)
}

export const testAgainMs = (failures: number): number =>
  Math.min(LONGEST_TEST_MS, FIRST_TEST_MS * 2 ** Math.max(0, failures - 1))

const after = (now: Date, ms: number): Date => new Date(now.getTime() + ms)
const isOlder = (at: Date | null, ms: number, now: Date): boolean => at === null || now.getTime() - at.getTime() >= ms

/**
 * Returns `before` if nothing worth writing changed. `unreachableCount`: consecutive unreachable requests, while no other
 * process succeeded.
 */
export function afterCall(
  before: ConnectionState,
  outcome: CallOutcome,
  unreachableCount: number,
  now: Date,
): ConnectionState {
  if (outcome.ok) {
    if (before.status === 'working' && !isOlder(before.lastSuccessAt, WRITE_INTERVAL_MS, now) && !isDoubted(before))
      return before
    const latencyMs = Math.round(outcome.firstByteMs)
    return { ...works(before, now), failures: 0, latencyMs }
  }
  const { fault } = outcome
  // A fault of the request says nothing about the provider.
  if (rules[fault.kind].asideMs === 0 || fault.kind === 'model_not_found') return before
  const error = { lastError: fault.message, lastErrorKind: fault.kind, lastErrorAt: now }
  if (!fails(before, fault, unreachableCount, now))
    return before.lastErrorKind === fault.kind && !isOlder(before.lastErrorAt, WRITE_INTERVAL_MS, now)
      ? before
      : { ...before, ...error }
  if (before.status === 'failing' && before.reason === fault.kind)
    return isOlder(before.lastErrorAt, WRITE_INTERVAL_MS, now) ? { ...before, ...error, observedAt: now } : before
  return {
    ...before,
    ...error,
    status: 'failing',
    reason: fault.kind,
    seenInCall: true,
    nextTestAt: after(now, testAgainMs(before.failures)),
    observedAt: now,
  }
}

const isDoubted = ({ lastErrorKind, lastErrorAt, lastSuccessAt }: ConnectionState): boolean =>
  lastErrorKind === 'unreachable' && lastErrorAt !== null && (lastSuccessAt === null || lastErrorAt > lastSuccessAt)

function fails(
  before: ConnectionState,
  { kind, status, affordsLess }: UpstreamFault,
  unreachableCount: number,
  now: Date,
): boolean {
  switch (kind) {
    case 'upstream_payment':
      // Smaller requests still succeed.
      return affordsLess !== true
    case 'upstream_key':
      return status !== 403 || isOlder(before.lastSuccessAt, RECENT_SUCCESS_MS, now)
    case 'unreachable':
      return unreachableCount >= UNREACHABLE_LIMIT
    default:
      // A failing model says nothing about the others. The router deprioritizes it for a while.
      return false
  }
}

/** `needsList`: without the provider's model list, the endpoint serves nothing. */
export function afterTest(
  before: ConnectionState,
  outcome: TestOutcome,
  needsList: boolean,
  now: Date,
): ConnectionState {
  if (outcome.ok) {
    const models = outcome.models === null ? {} : { modelsCount: outcome.models }
    const measurements = { latencyMs: outcome.latencyMs, ...models }
    if (!isProven(before, outcome.provesKey))
      return { ...before, ...measurements, ...open('unproven', now), seenInCall: true }
    return { ...works(before, now), failures: 0, ...measurements }
  }
  const { kind, message } = outcome
  const error = { lastError: message, lastErrorKind: kind, lastErrorAt: now }
  // A rate limit says nothing about the key.
  if (kind === 'rate_limited') return { ...before, ...error, nextTestAt: again(before, now) }
  if (kind === 'no_list' && !needsList)
    return before.status === 'working' || before.seenInCall
      ? { ...before, ...error, nextTestAt: null }
      : { ...before, ...error, ...open('no_list', now) }
  const failures = before.failures + 1
  return {
    ...before,
    ...error,
    status: 'failing',
    reason: kind,
    // A rejected request outweighs an inconclusive test.
    seenInCall: before.seenInCall && before.status === 'failing' && before.reason === kind,
    failures,
    nextTestAt: after(now, testAgainMs(failures)),
    observedAt: now,
  }
}

const again = ({ status, failures }: ConnectionState, now: Date): Date | null =>
  status === 'working' ? null : after(now, testAgainMs(failures + 1))

/** Only the next request can show whether it works, so it's offered again and not tested. */
const open = (reason: Reason, now: Date) => ({ status: 'untested', reason, nextTestAt: null, observedAt: now }) as const

/**
 * A success clears a rejected request, and so does a response that requires a valid key. Only a success clears an empty
 * account.
 */
function isProven({ reason, seenInCall }: ConnectionState, provesKey: boolean): boolean {
  if (!seenInCall) return true
  if (reason === 'upstream_payment') return false
  return reason === 'upstream_key' || reason === 'unproven' ? provesKey : true
}

const works = (before: ConnectionState, now: Date): ConnectionState => ({
  ...before,
  status: 'working',
  reason: null,
  seenInCall: false,
  lastSuccessAt: now,
  nextTestAt: null,
  observedAt: now,
})

export function reasonWords(reason: Reason | null): string | null {
  switch (reason) {
    case null:
      return null
    case 'no_list':
      return 'The provider responds but doesn’t list its models. The next request shows whether its key is accepted.'
    case 'unproven':
      return 'The provider rejected requests, but lists its models again. The next request shows whether it works.'
    default:
      return `It ${faultWords[reason]}.`
  }
}
