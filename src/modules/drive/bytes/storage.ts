import { sql } from 'kysely'
import type { Context, Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'

/** Bytes stored by a workspace: every version of every file, including the trash. */
export async function storedIn(db: Db, workspaceId: Id): Promise<bigint> {
  const { rows } = await sql<{ bytes: bigint }>`select
    (coalesce((select bytes from storage where workspace_id = ${workspaceId}), 0)
    + coalesce((select sum(bytes) from storage_changes where workspace_id = ${workspaceId}), 0))::int8 as bytes`.execute(
    db,
  )
  return rows[0]!.bytes
}

/** Like `storedIn`, for many workspaces. Empty ones are missing. */
export async function storedByWorkspace(db: Db, workspaceIds: readonly Id[]): Promise<Map<Id, bigint>> {
  const { rows } = await sql<{ workspace_id: Id; bytes: bigint }>`select workspace_id, sum(bytes)::int8 as bytes from (
      select workspace_id, bytes from storage where workspace_id = any(${workspaceIds}::ulid[])
      union all
      select workspace_id, bytes from storage_changes where workspace_id = any(${workspaceIds}::ulid[])
    ) kept group by workspace_id`.execute(db)
  return new Map(rows.map(({ workspace_id, bytes }) => [workspace_id, bytes]))
}

/**
 * Rejects writes beyond the workspace's storage limit. Within a transaction this holds against concurrent writers
 * too.
 */
export async function checkRoom(ctx: Context, workspaceId: Id, more: number, how: 'now' | 'held'): Promise<void> {
  const limit = ctx.engine.config.storage.workspace
  if (limit === 0) return
  if (how === 'held')
    await sql`select pg_advisory_xact_lock(hashtextextended(${`storage ${workspaceId}`}, 0))`.execute(ctx.db)
  const usedBytes = Number(await storedIn(ctx.db, workspaceId))
  if (usedBytes + more > limit)
    refuse('storage_full', {
      message: `A workspace can store up to ${limit} bytes, and ${usedBytes} are used. Delete files permanently to free space.`,
      details: { limit_bytes: limit, used_bytes: usedBytes, asked_bytes: more },
    })
}

export async function addUpStorage({ postgres }: Pick<Engine, 'postgres'>): Promise<void> {
  await sql`with changes as (delete from storage_changes returning workspace_id, bytes)
    insert into storage as s (workspace_id, bytes)
    select c.workspace_id, sum(c.bytes) from changes c join workspaces w on w.id = c.workspace_id group by c.workspace_id
    on conflict (workspace_id) do update set bytes = s.bytes + excluded.bytes`.execute(postgres.db)
}
