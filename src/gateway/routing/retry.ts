import type { Health } from './health.ts'
import { DEADLINE_MS, LONGEST_WAIT_MS, backoff, rules } from '../model/fault-rules.ts'
import type { Candidate } from './router.ts'
import { isSimulated } from '../sim/offers.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'

/** The candidate that is asked next, after so many milliseconds. */
export interface Step {
  candidate: Candidate
  waitMs: number
}

/**
 * The order in which candidates are asked, until somebody's first word: each candidate in turn, then once more those whose fault passes
 * by itself, with full jitter and within one deadline. It decides only; the call does the sending.
 */
export class RetryPolicy {
  readonly #candidates: readonly Candidate[]
  readonly #health: Health
  readonly #now: () => number
  readonly #chance: () => number
  readonly #deadline: number
  readonly #tried: Tried[] = []
  #round = 0
  /** Places among the candidates that are still to be asked in this round. */
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

  /** Attempts that have failed. */
  get failures(): number {
    return this.#tried.length
  }

  /** The fault of each earlier attempt, the last one left out. */
  get previous(): { candidate: Candidate; fault: UpstreamFault }[] {
    return this.#tried.slice(0, -1).map(({ place, fault }) => ({ candidate: this.#candidates[place]!, fault }))
  }

  /** A candidate failed before its first word. */
  failed(candidate: Candidate, fault: UpstreamFault): void {
    const now = this.#now()
    this.#tried.push({ place: this.#candidates.indexOf(candidate), fault, at: now })
    this.#health.failed(candidate.offer, fault, now)
    this.#queue = this.#queue.filter((index) => mayDoBetter(this.#candidates[index]!, candidate, fault))
  }

  /** Null: nobody is left to ask. */
  next(): Step | null {
    const next = this.#queue.shift()
    if (next !== undefined) return this.#take(next, 0)
    const last = this.#tried.at(-1)
    return last === undefined || rules[last.fault.kind].elsewhere === 'anybody' ? this.#again() : null
  }

  /** Somebody who was not asked in this round, to race the one that is being waited for. Null: there is none. */
  rival(): Candidate | null {
    const next = this.#queue.shift()
    return next === undefined ? null : this.#take(next, 0).candidate
  }

  /** Everybody was asked: a new round, of those who may be asked again. */
  #again(): Step | null {
    const now = this.#now()
    const jitter = backoff(this.#round++, this.#chance())
    const ready = this.#candidates.flatMap(({ offer }, place) => {
      const own = this.#tried.filter((tried) => tried.place === place)
      const last = own.at(-1)
      // A simulated model does again what it was told to do.
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

interface Tried {
  place: number
  fault: UpstreamFault
  at: number
}

function mayDoBetter(candidate: Candidate, failed: Candidate, { kind }: UpstreamFault): boolean {
  const { elsewhere } = rules[kind]
  if (elsewhere === 'anybody' || candidate.asked !== failed.asked) return true
  return (
    elsewhere === 'roomier' && (candidate.offer.contextLength ?? 0) > (failed.offer.contextLength ?? Number.MAX_VALUE)
  )
}
