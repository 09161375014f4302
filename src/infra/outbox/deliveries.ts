import type { Id } from '#core/ids.ts'
import { type Rounds, createRounds } from '../bus/rounds.ts'
import type { Lease } from '../processes/leases.ts'
import type { Log } from '../log.ts'
import type { Db, Postgres } from '../postgres/client.ts'
import type { Actor } from '#core/principal.ts'

/** An event as a consumer gets it. */
export interface DeliveredEvent {
  /** The same at every delivery: what a consumer is idempotent by. */
  id: Id
  /** `chat.created` */
  type: string
  channels: string[]
  resource_type: string | null
  resource_id: string | null
  /** `{account_id, via}`, or null for the server itself. */
  actor: Actor | null
  data: Record<string, unknown>
  /** ISO 8601. */
  at: string
}

/** A part of this server that acts on events, after their commit. Each gets its events one after the other, at least once. */
export interface Consumer {
  name: string
  /** The event types that the consumer wants; absent: all. */
  types?: readonly string[]
  /**
   * Chooses the events that the consumer wants, for a whole batch in the transaction that carries it, so that unwanted
   * events cost little.
   */
  sift?(db: Db): Promise<(event: Pick<DeliveredEvent, 'type' | 'channels' | 'data'>) => boolean>
  handle(event: DeliveredEvent): Promise<void>
  /** Several in their order, where that is cheaper. When it throws, they come again one by one. */
  together?(events: readonly DeliveredEvent[]): Promise<void>
}

const BATCH = 100
const POLL_MS = 1_000
/** A delivery that fails so often is given up, so that what comes behind it gets through. */
const MOST_ATTEMPTS = 12

/** Hands waiting deliveries to their consumers. */
export interface Deliveries extends AsyncDisposable {
  /** Tells these consumers that they have got deliveries. */
  wake(consumers: ReadonlySet<string>): void
}

/** Goes on for as long as this process has the lease. What waits since before, or failed, is found by one look for all. */
export function deliverTo(parts: {
  postgres: Postgres
  log: Log
  consumers: readonly Consumer[]
  lease: Lease
}): Deliveries {
  const { postgres, log, consumers } = parts
  const names = consumers.map(({ name }) => name)
  const lines = new Map(consumers.map((consumer) => [consumer.name, deliver(parts, consumer)]))
  const wake = (waiting: Iterable<string>): void => {
    for (const name of waiting) lines.get(name)?.wake()
  }
  const looking = createRounds(
    {},
    async () => {
      const { rows } = await postgres.pool.query<{ name: string }>({
        name: 'deliveries_waiting',
        text: 'select name from unnest($1::text[]) name where exists (select from deliveries d where d.consumer = name)',
        values: [names],
      })
      wake(rows.map(({ name }) => name))
    },
    (error) => log.error({ error }, 'events cannot be delivered right now'),
  )
  const timer = setInterval(looking.poll, POLL_MS)
  looking.poll()
  return {
    wake,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking[Symbol.asyncDispose]()
      await Promise.all([...lines.values()].map((line) => line[Symbol.asyncDispose]()))
    },
  }
}

function deliver(
  { postgres: { pool }, log, lease }: { postgres: Postgres; log: Log; lease: Lease },
  consumer: Consumer,
): Rounds {
  /** Answers the numbers of those that were handled together: all of them or none. */
  async function allAtOnce(rows: readonly { seq: bigint; event: DeliveredEvent }[]): Promise<string[]> {
    if (consumer.together === undefined || rows.length < 2) return []
    try {
      await consumer.together(rows.map(({ event }) => event))
      return rows.map(({ seq }) => String(seq))
    } catch (error) {
      log.warn({ error, consumer: consumer.name }, 'events were not handled in a batch and are handled individually')
      return []
    }
  }

  /** Whether there may be more. The head of the line holds up what is behind it: a consumer sees its events in order. */
  async function round(closing: AbortSignal): Promise<boolean> {
    if (lease.signal.aborted) return false
    const { rows } = await pool.query<{ seq: bigint; event: DeliveredEvent; attempts: number; due: boolean }>({
      name: 'deliveries_next',
      text: 'select seq, event, attempts, due_at <= now() as due from deliveries where consumer = $1 order by seq limit $2',
      values: [consumer.name, BATCH],
    })
    const handledSeqs: string[] = []
    let failure: { seq: bigint; attempts: number } | null = null
    const fresh = rows.findIndex(({ due, attempts }) => !due || attempts > 0)
    const first = await allAtOnce(fresh < 0 ? rows : rows.slice(0, fresh))
    handledSeqs.push(...first)
    for (const { seq, event, attempts, due } of rows.slice(first.length)) {
      if (!due || closing.aborted || lease.signal.aborted) break
      try {
        await consumer.handle(event)
        handledSeqs.push(String(seq))
      } catch (error) {
        log.error(
          { error, consumer: consumer.name, event: event.id, attempts: attempts + 1 },
          'an event was not handled',
        )
        failure = { seq, attempts: attempts + 1 }
        break
      }
    }
    if (failure && failure.attempts >= MOST_ATTEMPTS) handledSeqs.push(String(failure.seq))
    else if (failure)
      await pool.query(
        'update deliveries set attempts = $3, due_at = now() + make_interval(secs => $4) where consumer = $1 and seq = $2',
        [consumer.name, failure.seq, failure.attempts, Math.min(60, 2 ** failure.attempts / 4)],
      )
    if (handledSeqs.length > 0)
      await pool.query('delete from deliveries where consumer = $1 and seq = any($2::int8[])', [
        consumer.name,
        handledSeqs,
      ])
    return handledSeqs.length > 0 && rows.length === BATCH
  }

  return createRounds({}, round, (error) =>
    log.error({ error, consumer: consumer.name }, 'events cannot be delivered right now'),
  )
}
