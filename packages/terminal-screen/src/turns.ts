/** Runs one slice of work per turn of the event loop, in rotation, so that a busy terminal doesn't delay others. */
type Slice = () => boolean

const waiting = new Set<Slice>()
let scheduled = false

/** Calls `slice` once per turn until it returns false. */
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
