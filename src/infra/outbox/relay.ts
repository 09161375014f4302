import { type RawBuilder, sql } from 'kysely'
import type { EventTable } from '#core/events.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Bus } from '../bus/bus.ts'
import { startRounds } from '../bus/rounds.ts'
import { type Consumer, type Deliveries, deliverTo } from './deliveries.ts'
import type { Lease, Leases } from '../processes/leases.ts'
import type { Log } from '../log.ts'
import type { Db, Postgres } from '../postgres/client.ts'

const POLL_MS = 1_000
const BATCH = 500
/** Minimum time between turns: under load, events in between share one. */
const GROUP_MS = 10

interface Row {
  seq: bigint
  id: Id
  type: string
  channels: string[]
  resource_type: string | null
  resource_id: string | null
  actor: unknown
  data: Record<string, unknown>
  at: Date
  unheard: boolean
}

export interface RelayParts {
  postgres: Postgres
  bus: Bus
  leases: Leases
  log: Log
  consumers: readonly Consumer[]
  events: EventTable
  /**
   * An SQL condition for `outbox` rows about things only one account can see, so no workspace is notified. Evaluated
   * when the row is read, because the thing may be deleted later.
   */
  unheard: RawBuilder<boolean>
}

/**
 * Moves events from the outbox to `changes`, gap-free per channel, and to this server's consumers. One process at a
 * time does it, under the lease `relay`. Relayed rows are deleted, so events committed out of order can't be missed.
 */
export function startRelay(parts: RelayParts): AsyncDisposable {
  const { postgres, bus, leases, log, consumers } = parts
  let lease: Lease | null = null
  let delivering: Deliveries | null = null
  const undeclaredTypes = new Set<string>()

  async function round(closing: AbortSignal, isPoked: boolean): Promise<boolean> {
    if (lease?.signal.aborted) await stepDown()
    if (lease === null) {
      lease = await leases.acquire('relay')
      if (lease === null) return false
      delivering = deliverTo({ postgres, log, consumers, lease })
    }
    const { fence, signal } = lease
    if (!isPoked && !(await isWaiting(postgres.db, fence))) return false
    while (!closing.aborted && !signal.aborted) {
      const batch = await postgres.db.transaction().execute((db) => relayBatch(db, fence, parts, missing))
      if (batch === null) {
        // The lease may expire unnoticed, for example if the database clock was set forward.
        log.warn({ lease: lease.name }, 'the outbox relay lost its lease')
        await stepDown()
        return true
      }
      if (batch.events > 0) bus.poke('changes')
      delivering?.wake(batch.consumers)
      if (batch.events < BATCH) return false
    }
    return false
  }

  /** Delivers undeclared types to all their channels and logs a warning. */
  function missing(type: string): void {
    if (undeclaredTypes.has(type)) return
    undeclaredTypes.add(type)
    log.warn({ type }, 'an event isn’t declared by any module')
  }

  async function stepDown(): Promise<void> {
    await delivering?.[Symbol.asyncDispose]()
    delivering = null
    await lease?.[Symbol.asyncDispose]()
    lease = null
  }

  const rounds = startRounds({ bus, poke: 'outbox', pollMs: POLL_MS, paceMs: GROUP_MS }, round, (error) =>
    log.error({ error }, 'events cannot be relayed right now'),
  )
  return {
    async [Symbol.asyncDispose]() {
      await rounds[Symbol.asyncDispose]()
      await stepDown()
    },
  }
}

async function isWaiting(db: Db, fence: bigint): Promise<boolean> {
  const { rows } = await sql<{ waiting: boolean }>`select exists (select from outbox)
    or not exists (select from leases where name = 'relay' and fence = ${fence}) as waiting`.execute(db)
  return rows[0]!.waiting
}

interface CarriedBatch {
  events: number
  consumers: ReadonlySet<string>
}

async function relayBatch(
  db: Db,
  fence: bigint,
  { consumers, events, unheard }: RelayParts,
  missing: (type: string) => void,
): Promise<CarriedBatch | null> {
  const { rows: leaseRows } =
    await sql`select 1 from leases where name = 'relay' and fence = ${fence} for update`.execute(db)
  if (leaseRows.length === 0) return null
  const { rows: page } =
    await sql<Row>`select seq, id, type, channels, resource_type, resource_id, actor, data, at, ${unheard} as unheard from outbox order by seq limit ${BATCH}`.execute(
      db,
    )
  if (page.length === 0) return { events: 0, consumers: new Set() }
  for (const { type } of page) if (!events.has(type)) missing(type)
  const rows = page.map(({ unheard, ...row }) => {
    const channels = events.channelsOf(row.type, row.channels)
    return { ...row, channels: unheard ? channels.filter((name) => !name.startsWith('workspace:')) : channels }
  })
  const perChannel = new Map<string, number>()
  for (const { channels } of rows)
    for (const channel of channels) perChannel.set(channel, (perChannel.get(channel) ?? 0) + 1)
  const offsets = await takeOffsets(db, perChannel)
  const changes = rows.flatMap(({ channels, id, type, resource_type, resource_id, data, at }) =>
    channels.map((channel) => {
      const offset = offsets.get(channel)!
      offsets.set(channel, offset + 1n)
      return { channel, offset: String(offset), id, type, resource_type, resource_id, data, at }
    }),
  )
  await sql`insert into changes (channel, "offset", event_id, type, resource_type, resource_id, data, at)
    select channel, "offset", id, type, resource_type, resource_id, data, at from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
    as x(channel text, "offset" bigint, id text, type text, resource_type text, resource_id text, data jsonb, at timestamptz)`.execute(
    db,
  )
  const deliveries: { consumer: string; seq: string; event: object }[] = []
  for (const { name, types, sift } of consumers) {
    const candidates = rows.filter(({ type }) => types === undefined || types.includes(type))
    const deliverable = candidates.length > 0 && sift ? candidates.filter(await sift(db)) : candidates
    for (const { seq, ...event } of deliverable) deliveries.push({ consumer: name, seq: String(seq), event })
  }
  if (deliveries.length > 0)
    await sql`insert into deliveries (consumer, seq, event) select consumer, seq, event
      from jsonb_to_recordset(${JSON.stringify(deliveries)}::jsonb) as x(consumer text, seq bigint, event jsonb)
      on conflict do nothing`.execute(db)
  await sql`delete from outbox where seq = any(${rows.map(({ seq }) => String(seq))}::int8[])`.execute(db)
  return { events: rows.length, consumers: new Set(deliveries.map(({ consumer }) => consumer)) }
}

async function takeOffsets(db: Db, counts: ReadonlyMap<string, number>): Promise<Map<string, bigint>> {
  const names = [...counts.keys()].toSorted()
  const { rows } = await sql<{ name: string; offset: bigint }>`insert into channels as c (name, epoch, "offset")
    select name, epoch, n from unnest(${names}::text[], ${names.map(() => newId())}::text[], ${names.map((name) => counts.get(name)!)}::int8[]) x(name, epoch, n)
    on conflict (name) do update set "offset" = c."offset" + excluded."offset", touched_at = now() returning name, "offset"`.execute(
    db,
  )
  return new Map(rows.map(({ name, offset }) => [name, offset - BigInt(counts.get(name)!) + 1n]))
}
