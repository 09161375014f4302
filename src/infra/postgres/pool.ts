import pg from 'pg'

const OPENING = 2
const OPENING_MS = 20

/** Fields of pg-pool 3.14 that its types omit. */
interface Inside extends pg.Pool {
  _isFull(): boolean
  _pulseQueue(): void
}

/**
 * Opens two connections at a time, so a burst of short statements waits for free ones instead of opening one each: a
 * connection is a PostgreSQL process, which costs more than a hundred such statements. Still grows to its maximum if
 * connections stay in use.
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
        pool._pulseQueue()
      }
      const timer = setTimeout(go, OPENING_MS)
      // The pool passes a callback and ignores promises.
      super.connect((...of: unknown[]) => {
        // The opener owns it. (No type covers both shapes of `connect`.)
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
