/** Limits concurrent readers of large files. Pure. */

interface Reader extends Disposable {
  took(bytes: number): void
}

interface Place {
  network: string
  since: number
  tookAt: number
  /** Bytes in the current and the previous `SPAN_MS`. */
  span: { since: number; bytes: number; before: number }
  leave(): void
}

/** Readers idle for one span or slower (in bytes per second) can be preempted. */
const SPAN_MS = 10_000
const MIN_PACE = 32 * 1024

interface Places {
  /** Returns null if none is free. `leave` is called on preemption. */
  take(network: string, leave: () => void): Reader | null
}

/**
 * When all places are taken, a newcomer gets one from the largest network, if that has more, or else from a stalled
 * reader. Slow readers delay others by up to two spans; a single address can't block anyone.
 */
export function createPlaces(maxPlaces: number, now: () => number = () => performance.now()): Places {
  const occupied = new Set<Place>()

  /** Over two spans, because the OS buffers a burst at first. */
  function paceOf({ since, span }: Place): number {
    const spans = Math.floor((now() - span.since) / SPAN_MS)
    if (spans > 0)
      Object.assign(span, {
        since: span.since + spans * SPAN_MS,
        bytes: 0,
        before: spans === 1 ? span.bytes : 0,
      })
    const start = Math.max(since, span.since - SPAN_MS)
    return ((span.bytes + span.before) / Math.max(1, now() - start)) * 1_000
  }
  const isSlow = (place: Place): boolean =>
    now() - place.since >= SPAN_MS && (now() - place.tookAt >= SPAN_MS || paceOf(place) < MIN_PACE)
  const slowestOf = (places: Iterable<Place>): Place | undefined =>
    [...places].toSorted((a, b) => paceOf(a) - paceOf(b) || a.since - b.since)[0]

  function placeToFree(network: string): Place | undefined {
    const byNetwork = Map.groupBy(occupied, (place) => place.network)
    const own = byNetwork.get(network)?.length ?? 0
    const [largest = []] = [...byNetwork.values()].toSorted((a, b) => b.length - a.length)
    if (largest.length > own + 1) return slowestOf(largest)
    return slowestOf([...occupied].filter(isSlow))
  }

  return {
    take(network, leave) {
      if (occupied.size >= maxPlaces) {
        const place = placeToFree(network)
        if (place === undefined) return null
        occupied.delete(place)
        place.leave()
      }
      const since = now()
      const place: Place = { network, since, tookAt: since, span: { since, bytes: 0, before: 0 }, leave }
      occupied.add(place)
      return {
        took(bytes) {
          paceOf(place)
          place.tookAt = now()
          place.span.bytes += bytes
        },
        [Symbol.dispose]: () => void occupied.delete(place),
      }
    },
  }
}
