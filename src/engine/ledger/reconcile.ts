import type pg from 'pg'
import type { Log } from '../log.ts'

const EVERY_MS = 60_000
const BATCH = 500

/**
 * Ends the reservations of processes that are no more, at start and every minute. Every process may: the rows' locks
 * share the work out, and a reservation ends once.
 */
export async function reconcile(pool: pg.Pool, log: Log): Promise<number> {
  let all = 0
  for (;;) {
    const { rows } = await pool.query<{ n: number }>({
      name: 'reconcile_calls',
      text: 'select reconcile_calls($1) as n',
      values: [BATCH],
    })
    all += rows[0]!.n
    if (rows[0]!.n < BATCH) break
  }
  if (all > 0) log.warn({ calls: all }, 'reservations of processes that ended were reconciled')
  return all
}

export function startReconciler(pool: pg.Pool, log: Log): AsyncDisposable & { first: Promise<void> } {
  const run = async (): Promise<void> => {
    await reconcile(pool, log).catch((error: unknown) => log.error({ error }, 'reservations cannot be reconciled'))
  }
  const first = run()
  let running = first
  const timer = setInterval(() => {
    running = running.then(run)
  }, EVERY_MS)
  return {
    first,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}
