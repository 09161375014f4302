import { type ColumnType, type Generated, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import type { Db } from '#infra/postgres/client.ts'
import type { ResourceRow } from '#authz/resources.ts'
import type { Capability } from '#core/scopes.ts'
import type { Id } from '#core/ids.ts'

declare module '#infra/postgres/tables.ts' {
  interface Database {
    computers: ComputerTable
    computer_exposures: ExposureTable
  }
}

export type Lifecycle = 'provisioning' | 'running' | 'stopping' | 'stopped' | 'starting' | 'error' | 'deleted'
export type EngineState = 'absent' | 'stopped' | 'starting' | 'ready' | 'error'
export interface Limits {
  cpu: number | null
  memory_mb: number | null
  processes: number | null
  enforced: boolean
  /** Absent on computers created before disk limits existed. */
  disk_mb?: number | null
  disk_enforced?: boolean
}

interface ComputerTable {
  id: Id
  name: string
  kind: 'paired' | 'cloud'
  os: string | null
  arch: string | null
  hostname: string | null
  daemon_version: string | null
  protocol: number | null
  lifecycle: Generated<Lifecycle>
  engine: Generated<EngineState>
  allows: Capability[]
  driver: Generated<string | null>
  image: Generated<string | null>
  limits: ColumnType<Limits | null, string | null | undefined, string | null>
  /** Whether an admin of the owning workspace added the computer or mapped one of its models. */
  vouched: Generated<boolean>
  link_process_id: Generated<Id | null>
  link_epoch: Generated<bigint>
  last_seen_at: Generated<Date | null>
  lost_at: Generated<Date | null>
  /** See `nextRequestNumber` in `engines/learn.ts`. */
  models_asked: Generated<bigint>
  engines_asked: Generated<bigint>
}

interface ExposureTable {
  computer_id: Id
  workspace_id: Id
  capabilities: Capability[]
  created_by: Id | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export interface Exposure {
  workspace_id: Id
  capabilities: Capability[]
  created_at: string
}

export type ComputerRow = Selectable<ComputerTable> &
  ResourceRow & {
    /** The owner's account, if the workspace is personal. */
    account_id: Id | null
    exposures: Exposure[]
    online: boolean
    /** Why a cloud computer is in `error`. */
    reason: string | null
  }
export type NewComputer = Pick<
  ComputerTable,
  'id' | 'name' | 'kind' | 'os' | 'arch' | 'hostname' | 'daemon_version' | 'protocol' | 'allows'
> & { vouched: boolean; lifecycle?: Lifecycle; driver?: string | null; image?: string | null; limits?: Limits | null }

/** Applies regardless of the link's row. */
export const OFFLINE_SECONDS = 45

/** Whether a live process holds the link. Rows of killed processes don't count. */
export const isLinked = sql<boolean>`(c.last_seen_at > now() - make_interval(secs => ${sql.lit(OFFLINE_SECONDS)})
  and exists (select from processes p where p.id = c.link_process_id and p.expires_at > now())) is true`

const columns = sql`r.*, c.*, cloud.reason, case when w.kind = 'personal' then w.created_by end as account_id, ${isLinked} as online,
  coalesce((select json_agg(json_build_object('workspace_id', e.workspace_id, 'capabilities', e.capabilities,
    'created_at', e.created_at) order by e.created_at, e.workspace_id)
    from computer_exposures e where e.computer_id = c.id), '[]') as exposures`
const tables = sql`computers c join resources r on r.id = c.id join workspaces w on w.id = r.workspace_id
  left join cloud_computers cloud on cloud.computer_id = c.id`

export const reachedBy = (workspaces: readonly Id[]): RawBuilder<boolean> =>
  sql<boolean>`(r.workspace_id = any(${workspaces}::ulid[]) or exists (select from computer_exposures e
    where e.computer_id = c.id and e.workspace_id = any(${workspaces}::ulid[])))`

export interface ComputerPage {
  workspaces: readonly Id[]
  ownedBy: Id | null
  before: Id | null
  limit: number
}

export const computerStore = {
  async get(db: Db, id: Id): Promise<ComputerRow | null> {
    const { rows } = await sql<ComputerRow>`select ${columns} from ${tables} where c.id = ${id}`.execute(db)
    return rows[0] ?? null
  },

  async list(db: Db, { workspaces, ownedBy, before, limit }: ComputerPage): Promise<ComputerRow[]> {
    const { rows } = await sql<ComputerRow>`select ${columns} from ${tables} where ${reachedBy(workspaces)}
      ${ownedBy === null ? sql`` : sql`and r.workspace_id = ${ownedBy}`} ${before === null ? sql`` : sql`and c.id < ${before}`}
      order by c.id desc limit ${limit}`.execute(db)
    return rows
  },

  async insert(db: Db, { limits, ...row }: NewComputer): Promise<void> {
    await db
      .insertInto('computers')
      .values({ ...row, limits: limits ? JSON.stringify(limits) : null })
      .execute()
  },

  async update(db: Db, id: Id, changes: Updateable<ComputerTable>): Promise<void> {
    await db.updateTable('computers').set(changes).where('id', '=', id).execute()
  },

  async dropModelsBefore(db: Db, id: Id, place: bigint): Promise<void> {
    await sql`update computers set models_asked = greatest(models_asked, ${place}) where id = ${id}`.execute(db)
  },

  async exposedTo(db: Db, workspaces: readonly Id[]): Promise<Id[]> {
    const { rows } = await sql<{ id: Id }>`select distinct computer_id as id from computer_exposures
      where workspace_id = any(${workspaces}::ulid[])`.execute(db)
    return rows.map(({ id }) => id)
  },

  /** The lock serializes concurrent additions. */
  async countForOneMore(db: Db, workspaceId: Id): Promise<{ all: number; cloud: number }> {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`computers ${workspaceId}`}, 0))`.execute(db)
    const { rows } = await sql<{ all: number; cloud: number }>`select count(*)::int as all,
        count(*) filter (where c.kind = 'cloud')::int as cloud
      from resources r join computers c on c.id = r.id where r.kind = 'computer' and r.workspace_id = ${workspaceId}`.execute(
      db,
    )
    return rows[0]!
  },
}
