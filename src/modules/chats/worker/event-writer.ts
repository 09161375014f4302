import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#infra/log.ts'
import { type Postgres, sqlState } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { RunLog } from './run-log.ts'
import type { Logged } from '../runs/event-store.ts'
import type { RunEvent } from '../runs/facts.ts'

/** The time between the beginnings of two writes: events in between share the second. */
const GROUP_MS = 4
const AGAIN_MS = 200
const MOST_ROWS = 5_000
/** The events that a run may have waiting before its deltas are joined, and before it has to wait itself. */
const JOIN_FROM = 64
const MOST_WAITING = 512

interface Waiting {
  log: RunLog
  event: Logged
}

/**
 * Writes the events of all runs of this process, those that come within a few milliseconds in one statement. An event
 * is shown only after it is durable. A run whose claim is no longer the row's loses its log.
 */
export interface EventWriter extends AsyncDisposable {
  append(log: RunLog, facts: readonly RunEvent[]): void
  /** Resolves when what was appended so far is durable, or the log is lost. */
  flushed(log: RunLog): Promise<void>
  /** Resolves when the run may append more. */
  room(log: RunLog): Promise<void>
}

export function createEventWriter({ postgres: { pool }, log }: { postgres: Postgres; log: Log }): EventWriter {
  let queue: Waiting[] = []
  let writing: Promise<void> | null = null
  let lastAt = -Infinity
  let closed = false
  const written = new Set<() => void>()

  function append(runLog: RunLog, facts: readonly RunEvent[]): void {
    if (runLog.lost.aborted) return
    for (const fact of facts) {
      if (runLog.waiting >= JOIN_FROM && join(runLog, fact)) continue
      queue.push({ log: runLog, event: runLog.number(fact) })
      runLog.waiting++
    }
    if (queue.length > 0) writing ??= write()
  }

  /** Puts a delta to the one before it, where the same run is told of the same part: the database is behind. */
  function join(runLog: RunLog, { type, data }: RunEvent): boolean {
    if (!type.endsWith('.delta')) return false
    const last = queue.findLast((waiting) => waiting.log === runLog)?.event
    if (last?.type !== type || last.data.index !== data.index || last.data.tool_call_id !== data.tool_call_id)
      return false
    last.data = { ...last.data, delta: (last.data.delta as string) + (data.delta as string) }
    return true
  }

  async function write(): Promise<void> {
    while (queue.length > 0) {
      const wait = lastAt + GROUP_MS - performance.now()
      // Also without a wait the caller's turn ends first: events that it still appends come along.
      await (wait > 0 ? sleep(wait) : new Promise(setImmediate))
      lastAt = performance.now()
      const batch = queue.splice(0, MOST_ROWS)
      await store(batch)
      for (const wake of written) wake()
    }
    // At once: who was woken may append before a promise of this end is heard.
    writing = null
  }

  async function store(batch: readonly Waiting[]): Promise<void> {
    for (;;) {
      try {
        return settle(batch, await insert(batch))
      } catch (error) {
        // Data that the database does not take: whoever it belongs to is told, the others go on.
        if (/^2[23]/.test(sqlState(error) ?? '')) return storeApart(batch, error)
        log.warn({ error }, 'run events cannot be written right now')
        if (closed) return drop(batch)
        await sleep(AGAIN_MS)
      }
    }
  }

  async function storeApart(batch: readonly Waiting[], cause: unknown): Promise<void> {
    const apart = Map.groupBy(batch, (waiting) => waiting.log)
    if (apart.size === 1) {
      log.error({ error: cause, run: batch[0]!.log.runId }, 'an event of a run cannot be written')
      return drop(batch)
    }
    for (const part of apart.values()) await store(part)
  }

  /** Answers the runs whose claim still holds. Events already there were written by a try whose answer was lost. */
  async function insert(batch: readonly Waiting[]): Promise<Set<Id>> {
    const { rows } = await pool.query<{ id: Id }>({
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

  function settle(batch: readonly Waiting[], held: ReadonlySet<Id>): void {
    for (const [runLog, part] of Map.groupBy(batch, (waiting) => waiting.log)) {
      runLog.waiting -= part.length
      if (held.has(runLog.runId)) runLog.tail.push(part.map(({ event }) => event))
      else runLog.lose()
    }
  }

  function drop(batch: readonly Waiting[]): void {
    settle(batch, new Set())
  }

  /** Waits for writes until the condition holds. */
  async function until(runLog: RunLog, holds: () => boolean): Promise<void> {
    while (!holds() && !runLog.lost.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = (): void => {
        written.delete(wake)
        resolve()
      }
      written.add(wake)
      await promise
    }
  }

  return {
    append,
    flushed: (runLog) => until(runLog, () => runLog.waiting === 0),
    room: (runLog) => until(runLog, () => runLog.waiting < MOST_WAITING),
    async [Symbol.asyncDispose]() {
      closed = true
      await writing
    },
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
