/** Does work as soon as there is a place for it. */
export type Places = <T>(work: () => Promise<T>) => Promise<T>

/** Places for at most so many pieces of work at once; later ones wait for their turn. */
export function placesFor(most: number): Places {
  const waiting: (() => void)[] = []
  let free = most
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
