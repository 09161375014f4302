import { Refusal } from '#core/errors.ts'
import { storable } from '#core/text/storable.ts'
import { MediaFault } from './adapter.ts'

/**
 * What a failed submit means. `elsewhere`: no vendor was called or accepted the job, so another may be tried.
 * `refused`: the job wasn't done and costs nothing. `done`: the vendor counts it as done although its result is
 * useless, and it is billed. `unclear`: the vendor may be working on it, so it is billed and no other is tried.
 */
export type Fate = 'elsewhere' | 'refused' | 'done' | 'unclear'

const OTHERS_MAY: ReadonlySet<MediaFault['kind']> = new Set([
  'credential',
  'rate_limited',
  'overloaded',
  'unreachable',
  'timeout',
  'not_found',
])

export function fateOf(fault: unknown, how: 'immediate' | 'deferred'): Fate {
  // Our own adapters refuse before anything is sent.
  if (fault instanceof Refusal) return 'refused'
  if (!(fault instanceof MediaFault)) return 'unclear'
  const { kind, sent: isSent, status } = fault
  if (!isSent) return OTHERS_MAY.has(kind) ? 'elsewhere' : 'refused'
  switch (kind) {
    case 'refused_content':
    case 'bad_request':
    case 'credential':
    case 'rate_limited':
    case 'not_found':
      return 'refused'
    case 'overloaded':
      return 'refused'
    case 'timeout':
    case 'unreachable':
      return 'unclear'
    case 'bad_answer':
      // A vendor's error ends an immediate request; whether a job was submitted is unclear.
      if (status !== null && status >= 500)
        return how === 'immediate' && status !== 502 && status !== 504 ? 'refused' : 'unclear'
      return how === 'immediate' ? 'done' : 'unclear'
  }
}

export function passes(fault: unknown): boolean {
  if (!(fault instanceof MediaFault)) return false
  const { kind, status } = fault
  return (
    kind === 'rate_limited' ||
    kind === 'overloaded' ||
    kind === 'unreachable' ||
    kind === 'timeout' ||
    // The key may be fixed while the job continues.
    kind === 'credential' ||
    (kind === 'bad_answer' && status !== null)
  )
}

export function mediaRefusal(fault: unknown): Refusal {
  if (fault instanceof Refusal) return fault
  if (!(fault instanceof MediaFault)) return new Refusal('internal_error')
  const { kind, status, retryAfterSeconds } = fault
  const message = storable(fault.message)
  const headers =
    retryAfterSeconds === null ? {} : { headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))) } }
  switch (kind) {
    case 'refused_content':
      return new Refusal('content_refused', { message })
    case 'bad_request':
      return new Refusal('invalid_parameter', { message })
    case 'rate_limited':
      return new Refusal('rate_limited', { message, ...headers })
    case 'overloaded':
      return new Refusal('unavailable', { message, ...headers })
    case 'timeout':
      return new Refusal('timeout', { message })
    case 'bad_answer':
      return new Refusal(status === null ? 'bad_provider_answer' : 'provider_error', { message })
    case 'credential':
    case 'unreachable':
    case 'not_found':
      return new Refusal('provider_error', { message })
  }
}

/** Seconds between polls of a job; videos take minutes. */
const WAITS = [2, 3, 5, 8, 10]
const VIDEO_WAITS = [10, 12, 15, 20, 25, 30]
/** Seconds between polls of local jobs, which finish almost at once. */
const OWN_WAITS = [0.1, 0.2, 0.5, 1]
const LONGEST_SECONDS = 3_600

/**
 * `round` counts from 0; `chance` 0–1 spreads jobs that started together by ± 20 %, or by up to 20 % later if the
 * vendor requests a minimum time.
 */
export function pollDelayMs(kind: string, round: number, retryAfterSeconds: number | null, chance: number): number {
  const waits = kind === 'video' ? VIDEO_WAITS : kind === 'simulated' ? OWN_WAITS : WAITS
  const own = waits[Math.min(round, waits.length - 1)]! * 1000
  if (retryAfterSeconds === null) return own * (0.8 + 0.4 * chance)
  return Math.min(LONGEST_SECONDS, Math.max(1, retryAfterSeconds)) * 1000 * (1 + 0.2 * chance)
}
