export type Places = <T>(work: () => Promise<T>) => Promise<T>

/** Limits concurrent work. Further work waits in order. */
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
