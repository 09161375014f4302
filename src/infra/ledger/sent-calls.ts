import type pg from 'pg'
import type { Id } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import type { Log } from '../log.ts'

/** Shorter calls are never marked; their settlement suffices. */
const AFTER_MS = 50
const GROW_MS = 1_000

export interface SentCalls extends AsyncDisposable {
  /** `atLeast`: the cost so far, including the input's maximum. `now`: returns the current cost. */
  markSent(id: Id, atLeast: Nano, now?: () => Nano): void
  forget(id: Id): void
}

export function createSentCalls(pool: pg.Pool, log: Log): SentCalls {
  let waiting = new Map<Id, Nano>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const growing = new Map<Id, { now: (() => Nano) | null; marked: Nano }>()
  let ticker: NodeJS.Timeout | null = null

  function mark(id: Id, atLeast: Nano): void {
    const before = waiting.get(id) ?? 0n
    waiting.set(id, atLeast > before ? atLeast : before)
    timer ??= setTimeout(() => void (writing = writing.then(write)), AFTER_MS)
  }

  function grow(): void {
    for (const [id, call] of growing) {
      const nano = call.now?.() ?? 0n
      if (nano <= call.marked) continue
      call.marked = nano
      mark(id, nano)
    }
    if (growing.size > 0 || ticker === null) return
    clearInterval(ticker)
    ticker = null
  }

  async function write(): Promise<void> {
    timer = null
    const marks = [...waiting].toSorted(([a], [b]) => (a < b ? -1 : 1))
    waiting = new Map()
    if (marks.length === 0) return
    try {
      await pool.query({
        name: 'mark_calls',
        text: `with mine as materialized (
            select r.call_id, x.nano from unnest($1::bpchar[], $2::int8[]) x(id, nano) join reservations r on r.call_id = x.id
            order by r.call_id for update of r)
          update reservations r set sent_at = coalesce(r.sent_at, clock_timestamp()), estimate = greatest(r.estimate, mine.nano)
          from mine where r.call_id = mine.call_id`,
        values: [marks.map(([id]) => id), marks.map(([, nano]) => nano)],
      })
    } catch (error) {
      // A lost mark only costs the instance: after a crash the call would be released.
      log.warn({ error }, 'calls were not marked as sent')
    }
  }

  return {
    markSent(id, atLeast, now) {
      mark(id, atLeast)
      if (now === undefined) return
      growing.set(id, { now, marked: atLeast })
      ticker ??= setInterval(grow, GROW_MS).unref()
    },
    forget(id) {
      waiting.delete(id)
      const call = growing.get(id)
      if (call === undefined) return
      // A rehashed map leaves its old table to the garbage collector, which would retain the whole call until a full
      // collection.
      call.now = null
      growing.delete(id)
    },
    async [Symbol.asyncDispose]() {
      if (timer) clearTimeout(timer)
      if (ticker) clearInterval(ticker)
      await writing
    },
  }
}
