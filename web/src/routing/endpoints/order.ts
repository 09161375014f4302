/** Endpoints are ordered in places. Endpoints that share a place split its calls. */
export interface Ranked {
  id: string
  priority: number
  weight: number
  slug: string
}

export function placesOf<T extends Ranked>(endpoints: readonly T[]): T[][] {
  const places = Map.groupBy(endpoints, ({ priority }) => priority)
  return [...places]
    .toSorted(([a], [b]) => a - b)
    .map(([, sharing]) => sharing.toSorted((a, b) => b.weight - a.weight || a.slug.localeCompare(b.slug)))
}

/**
 * Moves one step: out of a shared place into a new one next to it, or into the neighboring place. Null at either end.
 */
export function step<T extends Ranked>(places: readonly T[][], id: string, direction: 'up' | 'down'): T[][] | null {
  const from = places.findIndex((sharing) => sharing.some((one) => one.id === id))
  if (from < 0) return null
  const moving = places[from]!.find((one) => one.id === id)!
  const rest = places[from]!.filter((one) => one.id !== id)
  const before = places.slice(0, from)
  const after = places.slice(from + 1)
  if (rest.length > 0)
    return direction === 'up' ? [...before, [moving], rest, ...after] : [...before, rest, [moving], ...after]
  if (direction === 'up') return from === 0 ? null : [...before.slice(0, -1), [...before.at(-1)!, moving], ...after]
  return after.length === 0 ? null : [...before, [...after[0]!, moving], ...after.slice(1)]
}

/** Where something is dropped: into a place, or as a new place next to it. */
export type Drop = 'before' | 'into' | 'after'

export function moved<T extends Ranked>(places: readonly T[][], id: string, to: number, at: Drop): T[][] | null {
  const moving = places.flat().find((one) => one.id === id)
  if (moving === undefined) return null
  const rest = places.map((sharing) => sharing.filter((one) => one.id !== id))
  const edge = at === 'before' ? to : to + 1
  const next =
    at === 'into'
      ? rest.map((sharing, place) => (place === to ? [...sharing, moving] : sharing))
      : [...rest.slice(0, edge), [moving], ...rest.slice(edge)]
  const filled = next.filter((sharing) => sharing.length > 0)
  const ids = (all: readonly T[][]): string =>
    JSON.stringify(all.map((sharing) => sharing.map((one) => one.id).toSorted()))
  return ids(filled) === ids(places) ? null : filled
}

export const changesFor = (places: readonly Ranked[][]): { id: string; priority: number }[] =>
  places.flatMap((sharing, priority) =>
    sharing.filter((one) => one.priority !== priority).map(({ id }) => ({ id, priority })),
  )
