import { type Generated, type Selectable, sql } from 'kysely'
import { type Db, nextTime } from '#infra/postgres/client.ts'
import { writeOutbox } from '#infra/outbox/outbox.ts'
import type { Id } from '#core/ids.ts'
import { channelsOf } from '../events.ts'
import { type Lifecycle, computerStore } from '../store.ts'
import type { Box, Network } from './driver.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    cloud_computers: CloudTable
    cloud_remains: RemainsTable
  }
}
interface CloudTable {
  computer_id: Id
  driver: string
  host: string
  number: Generated<bigint>
  image: string
  cpu: number | null
  memory_mb: number | null
  processes: number | null
  disk_mb: number | null
  disk_used_bytes: bigint | null
  network: Network
  idle_stop_seconds: number | null
  from_snapshot: Id | null
  made: Generated<boolean>
  reason: string | null
  deaths: Generated<number>
  started_at: Date | null
  used_at: Generated<Date>
}
interface RemainsTable {
  computer_id: Id
  driver: string
  host: string
  number: bigint
  created_at: Generated<Date>
}
export type CloudRow = Selectable<CloudTable> & { name: string; lifecycle: Lifecycle; workspace_id: Id; idle: boolean }
export type RemainsRow = Selectable<RemainsTable>

const ACTIVE_STATES: readonly Lifecycle[] = ['provisioning', 'starting', 'running', 'stopping']

const rows = sql`select k.*, c.name, c.lifecycle, r.workspace_id,
  coalesce(k.used_at < now() - make_interval(secs => k.idle_stop_seconds), false) as idle
  from cloud_computers k join computers c on c.id = k.computer_id join resources r on r.id = k.computer_id`

export const cloudStore = {
  insert: async (
    db: Db,
    row: Omit<
      Selectable<CloudTable>,
      'number' | 'made' | 'reason' | 'deaths' | 'started_at' | 'used_at' | 'disk_used_bytes'
    >,
  ): Promise<void> => {
    await db
      .insertInto('cloud_computers')
      .values({ ...row, reason: null, started_at: null, disk_used_bytes: null })
      .execute()
  },

  async get(db: Db, id: Id): Promise<CloudRow | null> {
    const result = await sql<CloudRow>`${rows} where k.computer_id = ${id}`.execute(db)
    return result.rows[0] ?? null
  },

  /** In bytes. Null: no cloud computer, or no limit. */
  async disk(db: Db, id: Id): Promise<{ limit: number; used: number } | null> {
    const result = await sql<{ disk_mb: number; used: bigint | null }>`select disk_mb, disk_used_bytes as used
      from cloud_computers where computer_id = ${id} and disk_mb is not null`.execute(db)
    const [row] = result.rows
    return row === undefined ? null : { limit: row.disk_mb * 1_048_576, used: Number(row.used ?? 0) }
  },

  /** The number of links so far. */
  async linkEpoch(db: Db, id: Id): Promise<bigint> {
    const { rows } = await sql<{ link_epoch: bigint }>`select link_epoch from computers where id = ${id}`.execute(db)
    return BigInt(rows[0]?.link_epoch ?? 0)
  },

  async atWork(db: Db, host: string): Promise<CloudRow[]> {
    const result = await sql<CloudRow>`${rows} where k.host = ${host} and c.lifecycle = any(${ACTIVE_STATES}::text[])
      order by k.computer_id`.execute(db)
    return result.rows
  },

  remains: (db: Db, host: string): Promise<RemainsRow[]> =>
    db.selectFrom('cloud_remains').selectAll().where('host', '=', host).execute(),

  async removed(db: Db, id: Id): Promise<void> {
    await db.deleteFrom('cloud_remains').where('computer_id', '=', id).execute()
  },

  async set(
    db: Db,
    id: Id,
    changes: Partial<Pick<CloudRow, 'made' | 'deaths' | 'started_at' | 'from_snapshot' | 'disk_used_bytes'>>,
  ) {
    await db.updateTable('cloud_computers').set(changes).where('computer_id', '=', id).execute()
  },

  async isAttended(db: Db, host: string): Promise<boolean> {
    const result = await sql`select from leases l join processes p on p.id = l.holder
      where l.name = ${leaseOf(host)} and l.expires_at > clock_timestamp() and p.expires_at > clock_timestamp()`.execute(
      db,
    )
    return result.rows.length > 0
  },
}

/** The lease's holder manages the host's cloud computers. */
export const leaseOf = (host: string): string => `cloud_computers.${host}`

const EVENT_VERBS: Partial<Record<Lifecycle, string>> = { running: 'started', stopped: 'stopped', error: 'failed' }

/** Publishes the event in the caller's transaction. Returns whether the computer moved. */
export async function move(
  db: Db,
  id: Id,
  from: readonly Lifecycle[],
  to: Lifecycle,
  reason: string | null = null,
): Promise<boolean> {
  const { numAffectedRows } = await sql`update computers set lifecycle = ${to}
    where id = ${id} and lifecycle = any(${from}::text[])`.execute(db)
  if (numAffectedRows !== 1n) return false
  await sql`update cloud_computers set reason = ${reason}, used_at = now(),
    started_at = case when ${to} = 'running' then now() else started_at end where computer_id = ${id}`.execute(db)
  await db.updateTable('resources').set({ updated_at: nextTime }).where('id', '=', id).execute()
  const row = (await computerStore.get(db, id))!
  await writeOutbox(
    db,
    {
      type: `computer.${EVENT_VERBS[to] ?? 'updated'}`,
      channels: channelsOf(row),
      resource: { type: 'computer', id },
      data: { id, workspace_id: row.workspace_id, name: row.name, lifecycle: to },
    },
    null,
  )
  return true
}

export const boxOf = (row: CloudRow): Box => ({
  id: row.computer_id,
  number: row.number,
  name: row.name,
  image: row.image,
  cpu: row.cpu,
  memoryMb: row.memory_mb,
  processes: row.processes,
  diskMb: row.disk_mb,
  network: row.network,
})
