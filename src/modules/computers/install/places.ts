/** The readers that a process serves large files to at the same time, and who gives way where all places are taken. Pure. */

interface Reader extends Disposable {
  /** Counts bytes that the reader has taken. */
  took(bytes: number): void
}

interface Place {
  network: string
  since: number
  tookAt: number
  /** Bytes of the present span of `SPAN_MS`, and of the one before. */
  span: { since: number; bytes: number; before: number }
  leave(): void
}

/** A reader who took nothing for a span, or less than `LEAST_PACE` bytes a second, gives way where all places are taken. */
const SPAN_MS = 10_000
const LEAST_PACE = 32 * 1024

interface Places {
  /** Takes a place for a reader of this network; null: none is free. `leave` ends the reader when it gives way. */
  take(network: string, leave: () => void): Reader | null
}

/**
 * Places that no network can keep for itself: where all are taken, a newcomer gets one of the network that has the most, if that is
 * more than its own share, else one of a reader who takes next to nothing. So slow readers, however many, keep nobody waiting for
 * longer than two spans, and one address alone keeps no other waiting at all.
 */
export function createPlaces(most: number, now: () => number = () => performance.now()): Places {
  const taken = new Set<Place>()

  /** Bytes per second in this span and the one before: what the system buffers at first counts no longer than that. */
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
    now() - place.since >= SPAN_MS && (now() - place.tookAt >= SPAN_MS || paceOf(place) < LEAST_PACE)
  const slowestOf = (places: Iterable<Place>): Place | undefined =>
    [...places].toSorted((a, b) => paceOf(a) - paceOf(b) || a.since - b.since)[0]

  function placeToFree(network: string): Place | undefined {
    const byNetwork = Map.groupBy(taken, (place) => place.network)
    const own = byNetwork.get(network)?.length ?? 0
    const [largest = []] = [...byNetwork.values()].toSorted((a, b) => b.length - a.length)
    if (largest.length > own + 1) return slowestOf(largest)
    return slowestOf([...taken].filter(isSlow))
  }

  return {
    take(network, leave) {
      if (taken.size >= most) {
        const place = placeToFree(network)
        if (place === undefined) return null
        taken.delete(place)
        place.leave()
      }
      const since = now()
      const place: Place = { network, since, tookAt: since, span: { since, bytes: 0, before: 0 }, leave }
      taken.add(place)
      return {
        took(bytes) {
          paceOf(place)
          place.tookAt = now()
          place.span.bytes += bytes
        },
        [Symbol.dispose]: () => void taken.delete(place),
      }
    },
  }
}
