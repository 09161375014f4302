import { sql } from 'kysely'
import { rightsChanged } from '#authz/rights.ts'
import type { Engine } from '#infra/context.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Capability } from '#core/scopes.ts'
import type { DaemonHello } from '#daemon-protocol/hello.ts'
import { channelsOf } from '../events.ts'
import { type ComputerRow, type Lifecycle, OFFLINE_SECONDS, computerStore, isLinked } from '../store.ts'

type Parts = Pick<Engine, 'bus' | 'postgres'>

export interface LinkName {
  computerId: Id
  epoch: number
}

export interface Place {
  processId: Id | null
  /** The process's address for other processes. */
  peer: string | null
  id: Id
  lifecycle: Lifecycle
  last_seen_at: Date | null
  /** Milliseconds since the link broke. Null: linked, never linked, or the daemon said goodbye. */
  lost_ms: number | null
}

/** Returns the link's epoch. Null: the computer was deleted. */
export async function recordLink(
  { postgres, bus }: Parts,
  processId: Id,
  computerId: Id,
  hello: DaemonHello,
): Promise<number | null> {
  const epoch = await postgres.db.transaction().execute(async (db) => {
    const before = await computerStore.get(db, computerId)
    if (before === null) return null
    const allows: Capability[] = hello.allows
    const { rows } = await sql<{ link_epoch: bigint }>`update computers set link_process_id = ${processId},
      link_epoch = link_epoch + 1, last_seen_at = now(), lost_at = null, os = ${hello.os}, arch = ${hello.arch},
      hostname = ${hello.hostname}, daemon_version = ${hello.daemon_version}, protocol = ${hello.protocol}, allows = ${allows}
      where id = ${computerId} returning link_epoch`.execute(db)
    const isInferenceChanged = before.allows.includes('inference') !== allows.includes('inference')
    if (isInferenceChanged || before.link_process_id === null) await notifyRoutingChange(db, before)
    const saysOtherwise = hello.os !== before.os || hello.arch !== before.arch || hello.hostname !== before.hostname
    if (saysOtherwise) await tellOf(db, before, 'updated')
    if (!before.online) await tellOf(db, before, 'connected')
    return Number(rows[0]!.link_epoch)
  })
  if (epoch !== null) pokeAll(bus)
  return epoch
}

/** Records the end of a link, unless a newer one replaced it. `lost`: the daemon is expected back. */
export async function recordUnlink(
  { postgres, bus }: Parts,
  { computerId, epoch }: LinkName,
  { lost }: { lost: boolean },
): Promise<void> {
  await postgres.db.transaction().execute(async (db) => {
    const { numAffectedRows } =
      await sql`update computers set link_process_id = null, lost_at = ${lost ? sql`now()` : null}
      where id = ${computerId} and link_epoch = ${epoch} and link_process_id is not null`.execute(db)
    if (numAffectedRows === 1n) await noteGone(db, computerId)
  })
  pokeAll(bus)
}

/** Revives links that another process marked as ended after a database outage. */
export async function recordHeartbeats(
  { postgres, bus }: Parts,
  processId: Id,
  links: readonly LinkName[],
): Promise<void> {
  const ids = links.map(({ computerId }) => computerId)
  const epochs = links.map(({ epoch }) => epoch)
  const back = await postgres.db.transaction().execute(async (db) => {
    const namedLinks = sql`from unnest(${ids}::ulid[], ${epochs}::bigint[]) as l(id, epoch) where c.id = l.id and c.link_epoch = l.epoch`
    const { rows } = await sql<{
      id: Id
    }>`update computers c set link_process_id = ${processId}, last_seen_at = now(), lost_at = null ${namedLinks}
      and c.link_process_id is null returning c.id`.execute(db)
    await sql`update computers c set last_seen_at = now() ${namedLinks}`.execute(db)
    for (const { id } of rows) {
      const row = await computerStore.get(db, id)
      if (row !== null) await tellOf(db, row, 'connected')
    }
    return rows.length
  })
  if (back > 0) bus.poke('outbox')
}

/** Needed for the idle stop of cloud computers. */
export async function recordUse({ postgres: { db } }: Parts, links: readonly LinkName[]): Promise<void> {
  const ids = links.map(({ computerId }) => computerId)
  await sql`update cloud_computers set used_at = now()
    where computer_id = any(${ids}::ulid[]) and idle_stop_seconds is not null`.execute(db)
}

export async function unlinkDeadProcesses({ postgres, bus }: Parts): Promise<void> {
  const over = await postgres.db.transaction().execute(async (db) => {
    const { rows } = await sql<{ id: Id }>`update computers c set link_process_id = null, lost_at = now()
      where link_process_id is not null and (last_seen_at < now() - make_interval(secs => ${OFFLINE_SECONDS})
        or not exists (select from processes p where p.id = c.link_process_id and p.expires_at > now())) returning id`.execute(
      db,
    )
    for (const { id } of rows) await noteGone(db, id)
    return rows.length
  })
  if (over > 0) pokeAll(bus)
}

export async function findPlace({ postgres: { db } }: Parts, computerId: Id): Promise<Place | null> {
  const { rows } = await sql<Place>`
    select c.id, p.id as "processId", p.peer, c.lifecycle, c.last_seen_at,
      case when p.id is null and c.link_process_id is not null then 0
        else (extract(epoch from now() - c.lost_at) * 1000)::float8 end as lost_ms
    from computers c left join processes p on p.id = c.link_process_id and ${isLinked}
    where c.id = ${computerId}`.execute(db)
  return rows[0] ?? null
}

function pokeAll(bus: Parts['bus']): void {
  bus.poke('outbox')
  bus.poke('rights')
}

async function noteGone(db: Db, computerId: Id): Promise<void> {
  const row = await computerStore.get(db, computerId)
  if (row === null) return
  await notifyRoutingChange(db, row)
  await tellOf(db, row, 'disconnected')
}

/** A computer's models are available only while it is online. */
async function notifyRoutingChange(db: Db, { id, workspace_id, exposures }: ComputerRow): Promise<void> {
  const { rows } = await sql`select from local_models where computer_id = ${id} and status = 'ready' limit 1`.execute(
    db,
  )
  if (rows.length > 0) await rightsChanged(db, [workspace_id, ...exposures.map((one) => one.workspace_id)])
}

async function tellOf(db: Db, row: ComputerRow, verb: 'connected' | 'disconnected' | 'updated'): Promise<void> {
  const { id, workspace_id, name } = row
  const event = {
    type: `computer.${verb}`,
    channels: channelsOf(row),
    resource: { type: 'computer', id },
    data: { id, workspace_id, name },
  }
  await writeOutbox(db, event, null)
}
