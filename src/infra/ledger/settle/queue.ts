import type pg from 'pg'
import type { Log } from '../../log.ts'
import { sqlState } from '../../postgres/client.ts'
import { ledgerFunctions } from '../../postgres/functions.ts'
import type { Item } from './item.ts'
import type { Journal } from './journal.ts'
import { SettleBatch } from './settle-batch.ts'

const EVERY_MS = 200
const BATCH = 1_000
/**
 * The most calls that wait to be written. Beyond it no new call is admitted, so memory is bounded when the database is
 * gone.
 */
const MOST = 50_000
const RETRY_MS = 500
const SPARE = 2

/** Calls that are settled or released, on their way into the database. Written again until they are durable. */
export interface SettleQueue extends AsyncDisposable {
  add(item: Item): void
  /** Writes these at once, whoever made them. */
  settle(batch: SettleBatch): Promise<void>
  full(): boolean
  /** Whether anything waits to be written. */
  any(): boolean
  /** The batches that were written so far: another number tells that something was meanwhile. */
  written(): number
  /** Whether something about this reserved call waits to be written. */
  has(id: string): boolean
  /** Waits until all that was added so far is durable; throws when it cannot be now. */
  flush(): Promise<void>
}

export function createSettleQueue(pool: pg.Pool, log: Log, journal: Journal): SettleQueue {
  let open = new SettleBatch()
  /** Full ones, oldest first, and the one that is being written. */
  const closedBatches: SettleBatch[] = []
  const spare: SettleBatch[] = []
  // The first word about a reserved call stands: what it is settled on is not released afterwards.
  const waiting = new Set<string>()
  let count = 0
  let writtenCount = 0
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let failing = false

  function write(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    return (writing ??= writeAll().finally(() => {
      writing = null
      if (count > 0) schedule(failing ? RETRY_MS : closedBatches.length > 0 ? 0 : EVERY_MS)
    }))
  }
  const schedule = (ms: number): void => void (timer ??= setTimeout(() => void write().catch(() => {}), ms))

  function close(): void {
    open.after = journal.rotate()
    closedBatches.push(open)
    open = spare.pop() ?? new SettleBatch()
  }

  async function writeAll(): Promise<void> {
    // Only what waits now: what comes meanwhile is gathered for the next time.
    if (open.count > 0) close()
    for (let remaining = closedBatches.length; remaining > 0; remaining--) {
      const batch = closedBatches[0]!
      try {
        await settle(batch)
      } catch (error) {
        failing = true
        log.error({ error, calls: count }, 'calls cannot be settled right now and are retried')
        throw error
      }
      failing = false
      writtenCount += 1
      closedBatches.shift()
      count -= batch.count
      for (const id of batch.ids) waiting.delete(id)
      batch.after?.()
      batch.clear()
      if (spare.length < SPARE) spare.push(batch)
    }
  }

  async function settle(batch: SettleBatch): Promise<void> {
    try {
      await send(batch.shared, batch.lines)
    } catch (error) {
      if (!isUnstorable(error)) throw error
      for (const { shared, lines } of batch.each()) await settleOne(shared, lines)
    }
  }

  const send = (shared: string, lines: Buffer): Promise<unknown> =>
    pool.query({
      name: 'settle_batch',
      text: `select ${ledgerFunctions.schema}.settle_batch($1, $2)`,
      values: [shared, lines],
    })

  /** Settles a batch's calls one by one: only a call that no column can hold is lost, and the log tells all of it. */
  async function settleOne(shared: string, lines: string, again = true): Promise<void> {
    try {
      await send(shared, Buffer.from(lines))
    } catch (error) {
      if (!isUnstorable(error)) throw error
      // Another process recorded it in this moment: the next look finds it.
      if (again && sqlState(error) === UNIQUE_VIOLATION) return settleOne(shared, lines, false)
      log.error({ error, call: { shared, lines } }, 'a call cannot be recorded')
    }
  }

  return {
    add(item) {
      const { id, reserved, shared, line } = item
      if (reserved) {
        if (waiting.has(id)) return
        waiting.add(id)
        open.ids.push(id)
      }
      journal.recordEnd(item)
      open.add(shared, line)
      count += 1
      if (open.count < BATCH) return schedule(EVERY_MS)
      close()
      if (failing) schedule(EVERY_MS)
      else void write().catch(() => {})
    },
    settle,
    full: () => count >= MOST,
    any: () => count > 0,
    written: () => writtenCount,
    has: (id) => waiting.has(id),
    async flush() {
      // Calls added during a write are written by the one after it.
      if (writing) await writing
      if (count > 0) await write()
    },
    async [Symbol.asyncDispose]() {
      if (writing) await writing.catch(() => {})
      if (count > 0)
        await write().catch((error: unknown) =>
          log.error({ error, calls: closedBatches.flatMap((batch) => batch.each()) }, 'calls were not settled'),
        )
      if (timer) clearTimeout(timer)
      journal.close(count === 0)
    },
  }
}

const UNIQUE_VIOLATION = '23505'
/** SQLSTATE 22 and 23: a value that a column cannot hold. */
const isUnstorable = (error: unknown): boolean => /^2[23]/.test(sqlState(error) ?? '')
