import pg from 'pg'

/** Connections that a pool opens at the same time, and how long each of them keeps others from being opened. */
const OPENING = 2
const OPENING_MS = 20

/** The members of pg-pool 3.14 that its types do not tell. */
interface Inside extends pg.Pool {
  _isFull(): boolean
  _pulseQueue(): void
}

/**
 * A pool that opens two connections at a time: a burst of short statements waits for those that come free, where each
 * would open one of its own. A connection is a process of PostgreSQL, which costs more than a hundred such statements.
 * Where those that are there stay taken, or opening one takes long, it grows to its most all the same.
 */
export function createPool(options: pg.PoolConfig): pg.Pool {
  let opening = 0
  class CountedClient extends pg.Client {
    override connect(done?: (...of: never[]) => void): Promise<pg.Client> {
      opening += 1
      let counts = true
      const go = (): void => {
        if (!counts) return
        counts = false
        opening -= 1
        // For the next who waits one more is opened.
        pool._pulseQueue()
      }
      const timer = setTimeout(go, OPENING_MS)
      // The pool calls it with a function, and hears of nothing else.
      super.connect((...of: unknown[]) => {
        // Whoever opened it has it. (The types of `connect` have two shapes of it, and none for both.)
        done?.(...(of as never[]))
        clearTimeout(timer)
        go()
      })
      return Promise.resolve(this)
    }
  }
  const counting: object = { ...options, Client: CountedClient }
  const pool = new pg.Pool(counting) as Inside
  const isFull = pool._isFull.bind(pool)
  pool._isFull = () => opening >= OPENING || isFull()
  return pool
}
