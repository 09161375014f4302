import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#infra/log.ts'
import { type Postgres, sqlState } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { RunLog } from './run-log.ts'
import type { Logged } from '../runs/event-store.ts'
import type { RunEvent } from '../runs/facts.ts'

/** The time between the starts of two writes. Events in between share the second. */
const GROUP_MS = 4
const AGAIN_MS = 200
const MAX_ROWS = 5_000
/** Waiting events of a run from which its deltas are joined, and at which it has to wait. */
const JOIN_FROM = 64
const MAX_WAITING = 512

interface Waiting {
  log: RunLog
  event: Logged
}

/**
 * Writes the events of all runs of this process, batched over a few milliseconds. Readers see an event once it is
 * durable. A run that another process claimed loses its log.
 */
export interface EventWriter extends AsyncDisposable {
  append(log: RunLog, facts: readonly RunEvent[]): void
  /** Resolves when the appended events are durable, or the log is lost. */
  flushed(log: RunLog): Promise<void>
  /** Resolves when the run may append more. */
  room(log: RunLog): Promise<void>
}

export const createEventWriter = ({ postgres, log }: { postgres: Postgres; log: Log }): EventWriter =>
  new BatchingWriter(postgres.pool, log)

class BatchingWriter implements EventWriter {
  readonly #pool: Postgres['pool']
  readonly #log: Log
  #queue: Waiting[] = []
  #writing: Promise<void> | null = null
  #lastAt = -Infinity
  #isClosed = false
  /** Called after every write. */
  readonly #wakers = new Set<() => void>()

  constructor(pool: Postgres['pool'], log: Log) {
    this.#pool = pool
    this.#log = log
  }

  append(runLog: RunLog, facts: readonly RunEvent[]): void {
    if (runLog.lost.aborted) return
    for (const fact of facts) {
      if (runLog.waiting >= JOIN_FROM && this.#join(runLog, fact)) continue
      this.#queue.push({ log: runLog, event: runLog.number(fact) })
      runLog.waiting++
    }
    if (this.#queue.length > 0) this.#writing ??= this.#write()
  }

  flushed(runLog: RunLog): Promise<void> {
    return this.#until(runLog, () => runLog.waiting === 0)
  }

  room(runLog: RunLog): Promise<void> {
    return this.#until(runLog, () => runLog.waiting < MAX_WAITING)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#writing
  }

  /** Appends a delta to the previous delta of the same run and part. Used while the database is behind. */
  #join(runLog: RunLog, { type, data }: RunEvent): boolean {
    if (!type.endsWith('.delta')) return false
    const last = this.#queue.findLast((waiting) => waiting.log === runLog)?.event
    if (last?.type !== type || last.data.index !== data.index || last.data.tool_call_id !== data.tool_call_id)
      return false
    last.data = { ...last.data, delta: (last.data.delta as string) + (data.delta as string) }
    return true
  }

  async #write(): Promise<void> {
    while (this.#queue.length > 0) {
      const wait = this.#lastAt + GROUP_MS - performance.now()
      // Lets the caller finish its turn, so that this batch includes the events it still appends.
      await (wait > 0 ? sleep(wait) : new Promise(setImmediate))
      this.#lastAt = performance.now()
      const batch = this.#queue.splice(0, MAX_ROWS)
      await this.#store(batch)
      for (const wake of this.#wakers) wake()
    }
    // Reset synchronously: a woken run may append before the promise resolves.
    this.#writing = null
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    for (;;) {
      try {
        return this.#settle(batch, await this.#insert(batch))
      } catch (error) {
        // Data that doesn't fit its column, or breaks a constraint, fails only its own run.
        if (/^2[23]/.test(sqlState(error) ?? '')) return this.#storeApart(batch, error)
        this.#log.warn({ error }, 'run events cannot be written right now')
        if (this.#isClosed) return this.#drop(batch)
        await sleep(AGAIN_MS)
      }
    }
  }

  async #storeApart(batch: readonly Waiting[], cause: unknown): Promise<void> {
    const apart = Map.groupBy(batch, (waiting) => waiting.log)
    if (apart.size === 1) {
      this.#log.error({ error: cause, run: batch[0]!.log.runId }, 'an event of a run cannot be written')
      return this.#drop(batch)
    }
    for (const part of apart.values()) await this.#store(part)
  }

  /** Returns the runs whose claim is still valid. Ignores events that an attempt with a lost response wrote. */
  async #insert(batch: readonly Waiting[]): Promise<Set<Id>> {
    const { rows } = await this.#pool.query<{ id: Id }>({
      name: 'run_events_insert',
      text: `with held as materialized (
          select r.id from unnest($1::ulid[], $2::int[]) c(id, fence) join runs r on r.id = c.id and r.fence = c.fence
            and r.status in ('running', 'requires_action')
        ), written as (
          insert into run_events (run_id, seq, type, at, data)
          select x.run_id, x.seq, x.type, x.at, x.data::json
            from unnest($3::ulid[], $4::int[], $5::text[], $6::timestamptz[], $7::text[]) x(run_id, seq, type, at, data)
            where x.run_id in (select id from held)
          on conflict do nothing
        ) select id from held`,
      values: [...claims(batch), ...columns(batch)],
    })
    return new Set(rows.map(({ id }) => id))
  }

  #settle(batch: readonly Waiting[], held: ReadonlySet<Id>): void {
    for (const [runLog, part] of Map.groupBy(batch, (waiting) => waiting.log)) {
      runLog.waiting -= part.length
      if (held.has(runLog.runId)) runLog.tail.push(part.map(({ event }) => event))
      else runLog.lose()
    }
  }

  #drop(batch: readonly Waiting[]): void {
    this.#settle(batch, new Set())
  }

  async #until(runLog: RunLog, holds: () => boolean): Promise<void> {
    while (!holds() && !runLog.lost.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = (): void => {
        this.#wakers.delete(wake)
        resolve()
      }
      this.#wakers.add(wake)
      await promise
    }
  }
}

function claims(batch: readonly Waiting[]): [Id[], number[]] {
  const logs = [...new Set(batch.map((waiting) => waiting.log))]
  return [logs.map((runLog) => runLog.runId), logs.map((runLog) => runLog.fence)]
}

const columns = (batch: readonly Waiting[]): [Id[], number[], string[], Date[], string[]] => [
  batch.map(({ log }) => log.runId),
  batch.map(({ event }) => event.seq),
  batch.map(({ event }) => event.type),
  batch.map(({ event }) => event.at),
  batch.map(({ event }) => JSON.stringify(event.data)),
]
