/**
 * Work that is done in slices, one per turn of the event loop over all who have some, so that a terminal that never stops
 * delays no other.
 */
type Slice = () => boolean

const waiting = new Set<Slice>()
let scheduled = false

/** Calls `slice` again, one turn after another, until it answers that nothing is left. */
export function takeTurns(slice: Slice): void {
  waiting.add(slice)
  schedule()
}

function schedule(): void {
  if (scheduled || waiting.size === 0) return
  scheduled = true
  setImmediate(() => {
    scheduled = false
    const [next] = waiting
    if (!next) return
    waiting.delete(next)
    if (next()) waiting.add(next)
    schedule()
  })
}
