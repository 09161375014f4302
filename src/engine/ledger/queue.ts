import type pg from 'pg'
import type { Log } from '../log.ts'
import { sqlState } from '../postgres/client.ts'
import type { Item } from './item.ts'

const EVERY_MS = 200
const BATCH = 1_000
/** More than this unwritten, and nothing new is admitted: memory is bounded when the database is gone. */
const MOST = 50_000
const RETRY_MS = 500

/** What is settled or released, on its way into the database. Written again until it is durable. */
export interface SettleQueue extends AsyncDisposable {
  add(item: Item): void
  full(): boolean
  /** Whether something about this call waits to be written. */
  has(id: string): boolean
  /** Waits until all that was added so far is durable; throws when it cannot be now. */
  flush(): Promise<void>
}

export function createSettleQueue(pool: pg.Pool, log: Log): SettleQueue {
  // The first word about a call stands: what it is settled on is not released afterwards.
  const waiting = new Map<string, Item>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let failing = false

  function write(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    return (writing ??= writeAll().finally(() => {
      writing = null
      if (waiting.size > 0) schedule(failing ? RETRY_MS : waiting.size >= BATCH ? 0 : EVERY_MS)
    }))
  }
  const schedule = (ms: number): void => void (timer ??= setTimeout(() => void write().catch(() => {}), ms))

  async function writeAll(): Promise<void> {
    // Only what waits now: what comes meanwhile is gathered for the next time.
    for (let left = waiting.size; left > 0; left -= BATCH) {
      const batch = [...waiting.values().take(Math.min(left, BATCH))]
      try {
        await settle(batch)
      } catch (error) {
        failing = true
        log.error({ error, calls: waiting.size }, 'calls cannot be settled now; they are tried again')
        throw error
      }
      failing = false
      for (const { id } of batch) waiting.delete(id)
    }
  }

  async function settle(batch: readonly Item[]): Promise<void> {
    try {
      await pool.query({
        name: 'settle_calls',
        text: 'select settle_calls($1)',
        values: [`[${batch.map(({ json }) => json).join(',')}]`],
      })
    } catch (error) {
      // 22, 23: a value that a column cannot hold. Only the call that has it is lost, and the log tells all of it.
      if (!/^2[23]/.test(sqlState(error) ?? '')) throw error
      if (batch.length === 1) return log.error({ error, call: batch[0] }, 'a call cannot be recorded')
      const half = batch.length >> 1
      await settle(batch.slice(0, half))
      await settle(batch.slice(half))
    }
  }

  return {
    add(item) {
      if (!waiting.has(item.id)) waiting.set(item.id, item)
      if (waiting.size >= BATCH && !failing) void write().catch(() => {})
      else schedule(EVERY_MS)
    },
    full: () => waiting.size >= MOST,
    has: (id) => waiting.has(id),
    async flush() {
      // What was added during a write is written by the one after it.
      if (writing) await writing
      if (waiting.size > 0) await write()
    },
    async [Symbol.asyncDispose]() {
      if (writing) await writing.catch(() => {})
      if (waiting.size > 0)
        await write().catch((error: unknown) =>
          log.error({ error, calls: [...waiting.values()] }, 'calls were not settled'),
        )
      if (timer) clearTimeout(timer)
    },
  }
}
