import type { Id } from '#core/ids.ts'
import { type Rounds, createRounds } from '../bus/rounds.ts'
import type { Lease } from '../processes/leases.ts'
import type { Log } from '../log.ts'
import type { Db, Postgres } from '../postgres/client.ts'
import type { Actor } from '#core/principal.ts'

export interface DeliveredEvent {
  /** The same for every delivery: the consumer's idempotency key. */
  id: Id
  type: string
  channels: string[]
  resource_type: string | null
  resource_id: string | null
  /** `{account_id, via}`, or null for the server. */
  actor: Actor | null
  data: Record<string, unknown>
  at: string
}

export interface Consumer {
  name: string
  types?: readonly string[]
  /** Filters a batch of events in the relay's transaction, so that unwanted events cost little. */
  sift?(db: Db): Promise<(event: Pick<DeliveredEvent, 'type' | 'channels' | 'data'>) => boolean>
  handle(event: DeliveredEvent): Promise<void>
  /** Handles several events in order, if that is cheaper. If it throws, they are redelivered one by one. */
  together?(events: readonly DeliveredEvent[]): Promise<void>
}

const BATCH = 100
const POLL_MS = 1_000
/** A delivery is dropped after this many failures, so later ones aren't blocked. */
const MAX_ATTEMPTS = 12

export interface Deliveries extends AsyncDisposable {
  wake(consumers: ReadonlySet<string>): void
}

/** Runs while this process has the lease. One query finds waiting and failed deliveries of all consumers. */
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

  /** Returns whether there may be more. A failed delivery blocks later ones, because consumers get events in order. */
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
    if (failure && failure.attempts >= MAX_ATTEMPTS) handledSeqs.push(String(failure.seq))
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
