import type pg from 'pg'
import type { Log } from '../../log.ts'
import { sqlState } from '../../postgres/client.ts'
import { ledgerFunctions } from '../../postgres/functions.ts'
import type { Item } from './item.ts'
import type { Journal } from './journal.ts'
import { SettleBatch } from './settle-batch.ts'

const EVERY_MS = 200
const BATCH = 1_000
/** Maximum unwritten calls. Above it no call is admitted, which bounds memory while the database is down. */
const MOST = 50_000
const RETRY_MS = 500
const SPARE = 2

export interface SettleQueue extends AsyncDisposable {
  add(item: Item): void
  settle(batch: SettleBatch): Promise<void>
  full(): boolean
  any(): boolean
  /** Changes whenever a batch was written. */
  written(): number
  has(id: string): boolean
  /** Waits until everything added so far is durable. Throws if that isn't possible now. */
  flush(): Promise<void>
}

export function createSettleQueue(pool: pg.Pool, log: Log, journal: Journal): SettleQueue {
  let open = new SettleBatch()
  const closedBatches: SettleBatch[] = []
  const spare: SettleBatch[] = []
  // The first outcome of a reserved call counts: a settled call isn't released later.
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
    // Only what is waiting now; later calls are collected for the next write.
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

  /**
   * Settles a batch's calls individually: only calls with unstorable values are lost, and the log has all their data.
   */
  async function settleOne(shared: string, lines: string, again = true): Promise<void> {
    try {
      await send(shared, Buffer.from(lines))
    } catch (error) {
      if (!isUnstorable(error)) throw error
      // Another process recorded it at the same moment; the retry finds it.
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
/** SQLSTATE 22 and 23: a value the column can't store. */
const isUnstorable = (error: unknown): boolean => /^2[23]/.test(sqlState(error) ?? '')
