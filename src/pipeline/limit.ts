import { refuse } from '#core/errors.ts'
import type { LimitClass } from '#core/contract.ts'
import type { Id } from '#core/ids.ts'

/**
 * In-memory token buckets per caller and class, refilled over a minute. With several processes each takes an equal
 * share of the quota (`processes()` counts the live ones), so the total is never exceeded.
 */
export interface Limits {
  /** Takes a token or throws 429. Returns the headers of draft-ietf-httpapi-ratelimit-headers. */
  take(caller: Id, limit: LimitClass): Record<string, string>
  enter(caller: Id): Disposable
  state(caller: Id): { name: string; quota: number; window_seconds: number; remaining: number }[]
}

const WINDOW_SECONDS = 60

class Flights implements Disposable {
  [Symbol.dispose](): void {
    this.count--
  }

  count = 0
}

interface Bucket {
  tokens: number
  at: number
}

export function createLimits(
  quotas: Readonly<Record<LimitClass | 'in_flight', number>>,
  processes: () => number,
  now: () => number = () => performance.now(),
): Limits {
  const buckets: Record<LimitClass, Map<Id, Bucket>> = {
    reads: new Map(),
    writes: new Map(),
    searches: new Map(),
    inference: new Map(),
  }
  const flights = new Map<Id, Flights>()
  const classes = ['reads', 'writes', 'searches', 'inference'] as const
  let swept = now()

  const quotaOf = (limit: LimitClass): number => Math.max(1, Math.floor(quotas[limit] / processes()))

  function createBucket(caller: Id, limit: LimitClass): Bucket {
    const quota = quotaOf(limit)
    const at = now()
    const bucket = buckets[limit].get(caller)
    if (!bucket) {
      const fresh = { tokens: quota, at }
      buckets[limit].set(caller, fresh)
      return fresh
    }
    bucket.tokens = Math.min(quota, bucket.tokens + ((at - bucket.at) / 1000 / WINDOW_SECONDS) * quota)
    bucket.at = at
    return bucket
  }

  // A bucket unused for a window is full again and can be dropped.
  function sweep(): void {
    if (now() - swept < WINDOW_SECONDS * 1000) return
    swept = now()
    for (const name of classes)
      for (const [caller, { at }] of buckets[name]) if (swept - at > WINDOW_SECONDS * 1000) buckets[name].delete(caller)
    for (const [caller, flight] of flights) if (flight.count === 0) flights.delete(caller)
  }

  return {
    take(caller, limit) {
      if (quotas[limit] === 0) return {}
      sweep()
      const bucket = createBucket(caller, limit)
      const quota = quotaOf(limit)
      const perSecond = quota / WINDOW_SECONDS
      const isRefused = bucket.tokens < 1
      if (!isRefused) bucket.tokens -= 1
      const remaining = Math.floor(bucket.tokens)
      const headers = {
        'ratelimit-policy': `"${limit}";q=${quota};w=${WINDOW_SECONDS}`,
        ratelimit: `"${limit}";r=${remaining};t=${Math.ceil((quota - bucket.tokens) / perSecond)}`,
      }
      if (isRefused) {
        // Rounded up, so a token is available by then, as the draft requires.
        const wait = Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
        refuse('rate_limited', {
          message: `You reached the limit of ${quota} ${limit} per minute. Try again in ${wait} s.`,
          headers: { ...headers, 'retry-after': String(wait) },
        })
      }
      return headers
    },
    enter(caller) {
      const most = quotas.in_flight === 0 ? Infinity : Math.max(1, Math.floor(quotas.in_flight / processes()))
      sweep()
      let flight = flights.get(caller)
      if (!flight) flights.set(caller, (flight = new Flights()))
      if (flight.count >= most)
        refuse('concurrency_limited', {
          message: `You reached the limit of ${most} concurrent requests.`,
          headers: { 'retry-after': '1' },
        })
      flight.count++
      return flight
    },
    state: (caller) =>
      classes
        .filter((limit) => quotas[limit] !== 0)
        .map((name) => ({
          name,
          quota: quotaOf(name),
          window_seconds: WINDOW_SECONDS,
          remaining: Math.floor(createBucket(caller, name).tokens),
        })),
  }
}
