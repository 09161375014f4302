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
const MAX_UNWRITTEN = 50_000
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

export const createSettleQueue = (pool: pg.Pool, log: Log, journal: Journal): SettleQueue =>
  new PostgresQueue(pool, log, journal)

class PostgresQueue implements SettleQueue {
  readonly #pool: pg.Pool
  readonly #log: Log
  readonly #journal: Journal
  #open = new SettleBatch()
  readonly #closedBatches: SettleBatch[] = []
  readonly #spare: SettleBatch[] = []
  /** The first outcome of a reserved call counts: a settled call isn't released later. */
  readonly #waiting = new Set<string>()
  #count = 0
  #writtenCount = 0
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> | null = null
  #failing = false

  constructor(pool: pg.Pool, log: Log, journal: Journal) {
    this.#pool = pool
    this.#log = log
    this.#journal = journal
  }

  add(item: Item): void {
    const { id, reserved, shared, line } = item
    if (reserved) {
      if (this.#waiting.has(id)) return
      this.#waiting.add(id)
      this.#open.ids.push(id)
    }
    this.#journal.recordEnd(item)
    this.#open.add(shared, line)
    this.#count += 1
    if (this.#open.count < BATCH) return this.#schedule(EVERY_MS)
    this.#close()
    if (this.#failing) this.#schedule(EVERY_MS)
    else void this.#write().catch(() => {})
  }

  async settle(batch: SettleBatch): Promise<void> {
    try {
      await this.#send(batch.shared, batch.lines)
    } catch (error) {
      if (!isUnstorable(error)) throw error
      for (const { shared, lines } of batch.each()) await this.#settleOne(shared, lines)
    }
  }

  full(): boolean {
    return this.#count >= MAX_UNWRITTEN
  }

  any(): boolean {
    return this.#count > 0
  }

  written(): number {
    return this.#writtenCount
  }

  has(id: string): boolean {
    return this.#waiting.has(id)
  }

  async flush(): Promise<void> {
    if (this.#writing) await this.#writing
    if (this.#count > 0) await this.#write()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#writing) await this.#writing.catch(() => {})
    if (this.#count > 0)
      await this.#write().catch((error: unknown) =>
        this.#log.error(
          { error, calls: this.#closedBatches.flatMap((batch) => batch.each()) },
          'calls were not settled',
        ),
      )
    if (this.#timer) clearTimeout(this.#timer)
    this.#journal.close(this.#count === 0)
  }

  #write(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    return (this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null
      if (this.#count > 0) this.#schedule(this.#failing ? RETRY_MS : this.#closedBatches.length > 0 ? 0 : EVERY_MS)
    }))
  }

  #schedule(ms: number): void {
    return void (this.#timer ??= setTimeout(() => void this.#write().catch(() => {}), ms))
  }

  #close(): void {
    this.#open.after = this.#journal.rotate()
    this.#closedBatches.push(this.#open)
    this.#open = this.#spare.pop() ?? new SettleBatch()
  }

  async #writeAll(): Promise<void> {
    // Only what is waiting now; later calls are collected for the next write.
    if (this.#open.count > 0) this.#close()
    for (let remaining = this.#closedBatches.length; remaining > 0; remaining--) {
      const batch = this.#closedBatches[0]!
      try {
        await this.settle(batch)
      } catch (error) {
        this.#failing = true
        this.#log.error({ error, calls: this.#count }, 'calls cannot be settled right now and are retried')
        throw error
      }
      this.#failing = false
      this.#writtenCount += 1
      this.#closedBatches.shift()
      this.#count -= batch.count
      for (const id of batch.ids) this.#waiting.delete(id)
      batch.after?.()
      batch.clear()
      if (this.#spare.length < SPARE) this.#spare.push(batch)
    }
  }

  #send(shared: string, lines: Buffer): Promise<unknown> {
    return this.#pool.query({
      name: 'settle_batch',
      text: `select ${ledgerFunctions.schema}.settle_batch($1, $2)`,
      values: [shared, lines],
    })
  }

  /**
   * Settles a batch's calls individually: only calls with unstorable values are lost, and the log has all their data.
   */
  async #settleOne(shared: string, lines: string, again = true): Promise<void> {
    try {
      await this.#send(shared, Buffer.from(lines))
    } catch (error) {
      if (!isUnstorable(error)) throw error
      // Another process recorded it at the same moment; the retry finds it.
      if (again && sqlState(error) === UNIQUE_VIOLATION) return this.#settleOne(shared, lines, false)
      this.#log.error({ error, call: { shared, lines } }, 'a call cannot be recorded')
    }
  }
}

const UNIQUE_VIOLATION = '23505'
/** SQLSTATE 22 and 23: a value the column can't store. */
const isUnstorable = (error: unknown): boolean => /^2[23]/.test(sqlState(error) ?? '')
