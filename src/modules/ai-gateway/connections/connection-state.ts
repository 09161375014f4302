import type { FaultKind, UpstreamFault } from '#gateway/model/canonical-request.ts'
import { rules } from '#gateway/model/fault-rules.ts'
import type { CallOutcome } from '#gateway/routing/health.ts'
import { faultWords } from '#gateway/routing/explain.ts'

/**
 * A word for why a connection has its status. `no_list`: it answers, and does not say what it serves. `unproven`: it
 * refused calls, and lists its models, which it may do for anybody.
 */
export type Reason = FaultKind | 'no_list' | 'unproven'

/** The knowledge about one endpoint at one address with one key. */
export interface ConnectionState {
  status: 'untested' | 'working' | 'failing'
  /** The reason for the status; null: nothing stands against the connection. */
  reason: Reason | null
  /** The reason was seen in a call, and not in a test. */
  seenInCall: boolean
  /** The provider's own sentence without its secrets, for those who administer the endpoint. */
  lastError: string | null
  lastErrorKind: Reason | null
  lastErrorAt: Date | null
  lastSuccessAt: Date | null
  /** Milliseconds to the first byte, at the last success. */
  latencyMs: number | null
  /** The number of models that the provider listed at the last test. */
  modelsCount: number | null
  /** Tests that failed, in a row. */
  failures: number
  /** The time of the next test; null: nothing calls for one. */
  nextTestAt: Date | null
  /** The time when the status was seen. */
  observedAt: Date
}

/** The standing of an endpoint: its state and its number of models; null: not known. */
export interface Standing {
  state: ConnectionState | null
  modelsCount: number | null
}

export type TestOutcome =
  | {
      ok: true
      latencyMs: number
      /** Null: the provider's check lists none. */
      models: number | null
      /** Whether only a good key can have led to this answer. */
      provesKey: boolean
    }
  | { ok: false; latencyMs: number; kind: Reason; message: string }

export const untested = (now: Date): ConnectionState => ({
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
/** An unchanged state is written down this often, in ms. */
export const NOTED_MS = 60 * SECOND
/** Calls in a row that found nobody: fewer may be one hiccup of the network. */
const MANY_UNREACHED = 3
/** A refusal of this call alone (403 may be) is no word on a connection that served so lately. */
const SERVED_LATELY_MS = 60 * SECOND
const FIRST_TEST_MS = 30 * SECOND
const LONGEST_TEST_MS = 15 * 60 * SECOND

/** A success of another process is a word on the provider for so long: twice as long as it takes to be noted again. */
const SERVED_ELSEWHERE_MS = 2 * NOTED_MS
/** The time that another process gets to say that it is served: it notes the first success after an error at once. */
const ASKING_MS = 5 * SECOND

/**
 * Whether another process is served by what this one cannot reach: then it is this one that is cut off, and the provider fails
 * nobody else. `own`: when this process was served last, as it noted; `since`: when its failures in a row began.
 */
export function servesElsewhere(
  { lastSuccessAt }: Pick<ConnectionState, 'lastSuccessAt'>,
  own: Date | null,
  since: Date,
  now: Date,
): boolean {
  if (lastSuccessAt === null || isOlder(lastSuccessAt, SERVED_ELSEWHERE_MS, now)) return false
  if (own !== null && lastSuccessAt <= own) return false
  return lastSuccessAt > since || !isOlder(since, ASKING_MS, now)
}

/** The time until a failing connection is tested again, by the tests that failed in a row. */
export const testAgainMs = (failures: number): number =>
  Math.min(LONGEST_TEST_MS, FIRST_TEST_MS * 2 ** Math.max(0, failures - 1))

const after = (now: Date, ms: number): Date => new Date(now.getTime() + ms)
const isOlder = (at: Date | null, ms: number, now: Date): boolean => at === null || now.getTime() - at.getTime() >= ms

/**
 * `before` itself where the outcome says nothing that is worth writing down. `unreached`: calls in a row that found nobody, while
 * nobody else was served.
 */
export function afterCall(
  before: ConnectionState,
  outcome: CallOutcome,
  unreached: number,
  now: Date,
): ConnectionState {
  if (outcome.ok) {
    if (before.status === 'working' && !isOlder(before.lastSuccessAt, NOTED_MS, now) && !isDoubted(before))
      return before
    const latencyMs = Math.round(outcome.firstByteMs)
    return { ...works(before, now), failures: 0, latencyMs }
  }
  const { fault } = outcome
  // What the request itself is at fault for says nothing of the provider.
  if (rules[fault.kind].asideMs === 0 || fault.kind === 'model_not_found') return before
  const error = { lastError: fault.message, lastErrorKind: fault.kind, lastErrorAt: now }
  if (!fails(before, fault, unreached, now))
    return before.lastErrorKind === fault.kind && !isOlder(before.lastErrorAt, NOTED_MS, now)
      ? before
      : { ...before, ...error }
  if (before.status === 'failing' && before.reason === fault.kind)
    return isOlder(before.lastErrorAt, NOTED_MS, now) ? { ...before, ...error, observedAt: now } : before
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

/** Whether some process could not reach the provider, and nobody has been served since. */
const isDoubted = ({ lastErrorKind, lastErrorAt, lastSuccessAt }: ConnectionState): boolean =>
  lastErrorKind === 'unreachable' && lastErrorAt !== null && (lastSuccessAt === null || lastErrorAt > lastSuccessAt)

function fails(
  before: ConnectionState,
  { kind, status, affordsLess }: UpstreamFault,
  unreached: number,
  now: Date,
): boolean {
  switch (kind) {
    case 'upstream_payment':
      // Others ask for less, and are served.
      return affordsLess !== true
    case 'upstream_key':
      return status !== 403 || isOlder(before.lastSuccessAt, SERVED_LATELY_MS, now)
    case 'unreachable':
      return unreached >= MANY_UNREACHED
    default:
      // A model that fails is no word on the others: the process sets it aside for a while.
      return false
  }
}

/** `needsList`: without the provider's list there is nothing that it could serve. */
export function afterTest(
  before: ConnectionState,
  outcome: TestOutcome,
  needsList: boolean,
  now: Date,
): ConnectionState {
  if (outcome.ok) {
    const models = outcome.models === null ? {} : { modelsCount: outcome.models }
    const seen = { latencyMs: outcome.latencyMs, ...models }
    if (!isProven(before, outcome.provesKey)) return { ...before, ...seen, ...open('unproven', now), seenInCall: true }
    return { ...works(before, now), failures: 0, ...seen }
  }
  const { kind, message } = outcome
  const error = { lastError: message, lastErrorKind: kind, lastErrorAt: now }
  // It answered, and for now to nobody: that says nothing of its key.
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
    // A call that was refused outweighs a test that got nowhere.
    seenInCall: before.seenInCall && before.status === 'failing' && before.reason === kind,
    failures,
    nextTestAt: after(now, testAgainMs(failures)),
    observedAt: now,
  }
}

const again = ({ status, failures }: ConnectionState, now: Date): Date | null =>
  status === 'working' ? null : after(now, testAgainMs(failures + 1))

/**
 * The state of a connection about which nobody can tell before the next call: it is offered again, and not tested any
 * more.
 */
const open = (reason: Reason, now: Date) => ({ status: 'untested', reason, nextTestAt: null, observedAt: now }) as const

/** A refused call is undone by a call, or by an answer that only a good key gets; an empty account by a call alone. */
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

/** The reason for a status, in a sentence that does not repeat what the provider said. */
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
