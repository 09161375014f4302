import type { Health } from './health.ts'
import { DEADLINE_MS, LONGEST_WAIT_MS, backoff, rules } from '../model/fault-rules.ts'
import type { Candidate } from './router.ts'
import { isSimulated } from '../sim/offers.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'

export interface Step {
  candidate: Candidate
  waitMs: number
}

/**
 * Each candidate in turn until the first content, then once more those with temporary faults, with full jitter and
 * within one deadline. Only decides; the call sends.
 */
export class RetryPolicy {
  readonly #candidates: readonly Candidate[]
  readonly #health: Health
  readonly #now: () => number
  readonly #chance: () => number
  readonly #deadline: number
  readonly #tried: FailedAttempt[] = []
  #round = 0
  #queue: number[]
  #at: number

  constructor(
    candidates: readonly Candidate[],
    health: Health,
    {
      startedAt = performance.now(),
      now = () => performance.now(),
      chance = Math.random,
    }: { startedAt?: number; now?: () => number; chance?: () => number } = {},
  ) {
    this.#candidates = candidates
    this.#health = health
    this.#now = now
    this.#chance = chance
    this.#deadline = startedAt + DEADLINE_MS
    this.#queue = candidates.map((_, index) => index)
    this.#at = this.#queue.shift()!
  }

  get current(): Candidate {
    return this.#candidates[this.#at]!
  }

  get failures(): number {
    return this.#tried.length
  }

  get previous(): { candidate: Candidate; fault: UpstreamFault }[] {
    return this.#tried.slice(0, -1).map(({ place, fault }) => ({ candidate: this.#candidates[place]!, fault }))
  }

  failed(candidate: Candidate, fault: UpstreamFault): void {
    const now = this.#now()
    this.#tried.push({ place: this.#candidates.indexOf(candidate), fault, at: now })
    this.#health.failed(candidate.offer, fault, now)
    this.#queue = this.#queue.filter((index) => mayDoBetter(this.#candidates[index]!, candidate, fault))
  }

  next(): Step | null {
    const next = this.#queue.shift()
    if (next !== undefined) return this.#take(next, 0)
    const last = this.#tried.at(-1)
    return last === undefined || rules[last.fault.kind].elsewhere === 'anybody' ? this.#again() : null
  }

  rival(): Candidate | null {
    const next = this.#queue.shift()
    return next === undefined ? null : this.#take(next, 0).candidate
  }

  #again(): Step | null {
    const now = this.#now()
    const jitter = backoff(this.#round++, this.#chance())
    const ready = this.#candidates.flatMap(({ offer }, place) => {
      const own = this.#tried.filter((entry) => entry.place === place)
      const last = own.at(-1)
      // A simulated model repeats its scripted behavior.
      if (last === undefined || own.length > rules[last.fault.kind].again || last.fault.lasts || isSimulated(offer))
        return []
      const waitMs = Math.max(jitter, last.at + (last.fault.retry_after_seconds ?? 0) * 1000 - now)
      return waitMs <= LONGEST_WAIT_MS && now + waitMs < this.#deadline ? [{ place, waitMs }] : []
    })
    const [first, ...rest] = ready.toSorted((a, b) => a.waitMs - b.waitMs)
    if (first === undefined) return null
    this.#queue = rest.filter(({ waitMs }) => waitMs <= first.waitMs).map(({ place }) => place)
    return this.#take(first.place, first.waitMs)
  }

  #take(place: number, waitMs: number): Step {
    this.#at = place
    return { candidate: this.#candidates[place]!, waitMs }
  }
}

interface FailedAttempt {
  place: number
  fault: UpstreamFault
  at: number
}

function mayDoBetter(candidate: Candidate, failedCandidate: Candidate, { kind }: UpstreamFault): boolean {
  const { elsewhere } = rules[kind]
  if (elsewhere === 'anybody' || candidate.asked !== failedCandidate.asked) return true
  return (
    elsewhere === 'roomier' &&
    (candidate.offer.contextLength ?? 0) > (failedCandidate.offer.contextLength ?? Number.MAX_VALUE)
  )
}
