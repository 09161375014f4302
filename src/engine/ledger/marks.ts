import type pg from 'pg'
import type { Id } from '#kernel/ids.ts'
import type { Nano } from '#kernel/money.ts'
import type { Log } from '../log.ts'

/** A call that ends sooner than this is never marked: its settlement says it all. */
const AFTER_MS = 50

/** Which reserved calls have left for the provider, and what a crash would settle them on. */
export interface Marks extends AsyncDisposable {
  /** `atLeast`: what the call has cost so far, input bound included. */
  sent(id: Id, atLeast: Nano): void
  forget(id: Id): void
}

export function createMarks(pool: pg.Pool, log: Log): Marks {
  let waiting = new Map<Id, Nano>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    timer = null
    const marks = [...waiting].toSorted(([a], [b]) => (a < b ? -1 : 1))
    waiting = new Map()
    if (marks.length === 0) return
    try {
      await pool.query({
        name: 'mark_calls',
        text: `with mine as materialized (
            select r.call_id, x.nano from unnest($1::text[], $2::int8[]) x(id, nano) join reservations r on r.call_id = x.id
            order by r.call_id for update of r)
          update reservations r set sent_at = coalesce(r.sent_at, clock_timestamp()), estimate = greatest(r.estimate, mine.nano)
          from mine where r.call_id = mine.call_id`,
        values: [marks.map(([id]) => id), marks.map(([, nano]) => nano)],
      })
    } catch (error) {
      // A lost mark costs the instance at most: a crash would release what was sent.
      log.warn({ error }, 'calls were not marked as sent')
    }
  }

  return {
    sent(id, atLeast) {
      const before = waiting.get(id) ?? 0n
      waiting.set(id, atLeast > before ? atLeast : before)
      timer ??= setTimeout(() => void (writing = writing.then(write)), AFTER_MS)
    },
    forget: (id) => void waiting.delete(id),
    async [Symbol.asyncDispose]() {
      if (timer) clearTimeout(timer)
      await writing
    },
  }
}
