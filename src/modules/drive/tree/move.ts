import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { writeAudit } from '#authz/audit.ts'
import { lockResource, updateResource } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { tell } from './file-events.ts'
import { type Target, lockTarget, lockTree, readFile } from './locate.ts'
import { aroundNumber } from '#core/files/numbered-name.ts'
import { placeBelow, checkDepth } from './names/names.ts'
import { checkRoom } from '../bytes/storage.ts'
import { type FileRow, fileStore } from '../store.ts'
import { refuseTaken } from './write.ts'

/** Locks the row and everything below it. Rejects trashed items. */
export async function lockFile(ctx: Context, id: Id): Promise<FileRow> {
  await lockResource(ctx, 'file', id)
  const row = await readFile(ctx, id)
  if (row.trashed)
    refuse('invalid_state', {
      message: `This ${row.kind} is in the trash. Restore it before you change it.`,
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
  return row
}

/**
 * Locks a file or folder and everything below it, in ID order like all multi-row locks: each resource row before
 * the rows that describe it. Requires the exclusive tree lock.
 */
async function lockTrees(ctx: Context, id: Id): Promise<void> {
  await sql`select from resources where id = ${id} or id in (select id from files where ancestors @> array[${id}::text])
    order by id for update`.execute(ctx.db)
}

/** Renames a file within its folder. The caller has locked the tree and the row. */
export async function rename(ctx: Context, row: FileRow, name: string): Promise<FileRow> {
  if (row.name === name) return row
  const folder = row.parent_id === null ? null : await readFile(ctx, row.parent_id)
  await place(ctx, row, { workspaceId: row.workspace_id, folder }, name)
  const renamed = await readFile(ctx, row.id)
  await tell(ctx, 'updated', renamed)
  return renamed
}

export function move(ctx: Context, before: FileRow, target: Target): Promise<FileRow> {
  const crossing = before.workspace_id !== target.workspaceId
  return ctx.transaction(async (ctx) => {
    const alone = before.kind === 'folder' || crossing
    await lockTree(ctx, [before.workspace_id, target.workspaceId], alone ? 'alone' : 'shared')
    if (crossing) await lockTrees(ctx, before.id)
    const row = await lockFile(ctx, before.id)
    const { workspaceId, folder } = await lockTarget(ctx, target)
    if (folder !== null && (folder.id === row.id || folder.ancestors.includes(row.id)))
      refuse('invalid_parameter', { param: 'parent_id', message: 'A folder can’t be moved into itself.' })
    if (row.parent_id === (folder?.id ?? null) && !crossing) return row
    await place(ctx, row, { workspaceId, folder }, row.name, 'parent_id')
    if (crossing) await crossOver(ctx, row.id, workspaceId)
    const after = await readFile(ctx, row.id)
    await tell(ctx, 'moved', after, [row.workspace_id])
    if (crossing) await auditCrossing(ctx, row, after)
    return after
  })
}

/** Records the move in the audit of both workspaces, without names, as in events. */
async function auditCrossing(ctx: Context, before: FileRow, { id, kind, workspace_id: to }: FileRow): Promise<void> {
  const { rows } = await sql<{ files: number; bytes: string }>`select
      count(distinct f.id)::int as files, coalesce(sum(v.size_bytes), 0)::text as bytes
    from files f left join file_versions v on v.file_id = f.id
    where f.kind = 'file' and (f.id = ${id} or f.ancestors @> array[${id}::text])`.execute(ctx.db)
  const { files, bytes } = rows[0]!
  const details = { from: before.workspace_id, to, kind, files, bytes: Number(bytes) }
  for (const workspaceId of [before.workspace_id, to])
    await writeAudit(ctx, { action: 'file.moved', workspaceId, subject: { type: 'file', id }, details })
}

async function place(ctx: Context, row: FileRow, { workspaceId, folder }: Target, name: string, param = 'name') {
  const lies = placeBelow(folder, name)
  checkDepth(lies, param)
  await checkDeepest(ctx, row, lies, param)
  await ctx.db
    .updateTable('files')
    .set({
      workspace_id: workspaceId,
      parent_id: folder?.id ?? null,
      name,
      path: lies.path,
      ancestors: sql`${lies.ancestors}::text[]`,
      trashed: false,
      trashed_with: null,
    })
    .where('id', '=', row.id)
    .execute()
    .catch((error: unknown) => {
      // 23505: the name was taken meanwhile.
      if (sqlState(error) === '23505') return refuseTaken(ctx, workspaceId, folder?.id ?? null, name, param)
      throw error
    })
  if (row.kind === 'folder') await anchorBelow(ctx, row, lies)
  await updateResource(ctx, row.id, { workspace_id: workspaceId })
}

async function anchorBelow(ctx: Context, row: FileRow, { path, ancestors }: { path: string; ancestors: string[] }) {
  await sql`update files set
      ancestors = ${ancestors}::text[] || ancestors[array_position(ancestors, ${row.id}::text):],
      path = case when trashed then path else ${path} || substr(path, ${[...row.path].length + 1}::int) end
    where ancestors @> array[${row.id}::text]`.execute(ctx.db)
}

async function checkDeepest(ctx: Context, row: FileRow, lies: { path: string; ancestors: string[] }, param: string) {
  if (row.kind !== 'folder') return
  const { rows } = await sql<{ bytes: number; depth: number }>`select
      coalesce(max(octet_length(path)), 0)::int as bytes, coalesce(max(cardinality(ancestors)), 0)::int as depth
    from files where ancestors @> array[${row.id}::text] and not trashed`.execute(ctx.db)
  const { bytes, depth } = rows[0]!
  if (depth === 0) return
  checkDepth(
    {
      path: lies.path + 'x'.repeat(Math.max(0, bytes - Buffer.byteLength(row.path))),
      ancestors: { length: lies.ancestors.length + depth - row.ancestors.length },
    },
    param,
  )
}

async function crossOver(ctx: Context, id: Id, workspaceId: Id): Promise<void> {
  const { rows } = await sql<{
    id: Id
  }>`select id from files where id = ${id} or ancestors @> array[${id}::text]`.execute(ctx.db)
  const ids = rows.map((row) => row.id)
  const { rows: sums } = await sql<{ bytes: bigint }>`select coalesce(sum(size_bytes), 0)::int8 as bytes
    from file_versions where file_id = any(${ids}::ulid[])`.execute(ctx.db)
  await checkRoom(ctx, workspaceId, Number(sums[0]!.bytes), 'held')
  for (const [table, column] of [
    ['files', 'id'],
    ['resources', 'id'],
    ['file_versions', 'file_id'],
  ] as const)
    await sql`update ${sql.table(table)} set workspace_id = ${workspaceId} where ${sql.ref(column)} = any(${ids}::ulid[])`.execute(
      ctx.db,
    )
}

/** Trashes an item, a folder with its contents as one unit. Contents already in the trash stay unchanged. */
export const trash = (ctx: Context, before: FileRow): Promise<void> =>
  ctx.transaction(async (ctx) => {
    await lockTree(ctx, [before.workspace_id], before.kind === 'folder' ? 'alone' : 'shared')
    await lockTrees(ctx, before.id)
    await lockResource(ctx, 'file', before.id)
    const row = await readFile(ctx, before.id)
    if (row.trashed) return
    await sql`with gone as (
        update files set trashed = true, trashed_with = ${row.id}, trashings = trashings + 1
        where not trashed and (id = ${row.id} or ancestors @> array[${row.id}::text]) returning id)
      update resources r set status = 'trashed', trashed_from = 'active', trashed_at = ${ctx.now()},
        trashed_by = ${ctx.principal.accountId},
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), r.updated_at + interval '1 millisecond')
      from gone where r.id = gone.id`.execute(ctx.db)
    await tell(ctx, 'trashed', await readFile(ctx, row.id))
  })

/** Restores exactly what was trashed with the item: to its folder, or to the root if the folder was deleted. */
export const restore = (ctx: Context, before: FileRow): Promise<FileRow> =>
  ctx.transaction(async (ctx) => {
    await lockTree(ctx, [before.workspace_id], 'alone')
    await lockTrees(ctx, before.id)
    await lockResource(ctx, 'file', before.id)
    const row = await readFile(ctx, before.id)
    if (!row.trashed) return row
    const parent = row.parent_id === null ? undefined : await fileStore.get(ctx.db, row.parent_id)
    const folder = parent && !parent.trashed && parent.workspace_id === row.workspace_id ? parent : null
    const at = [row.workspace_id, folder?.id ?? null] as const
    const isTaken = (await fileStore.named(ctx.db, ...at, row.name)) !== undefined
    const name = isTaken ? await fileStore.freeName(ctx.db, ...at, aroundNumber(row.name)) : row.name
    const unit = (await unitOf(ctx, row)).filter((id) => id !== row.id)
    await sql`update files set trashed = false, trashed_with = null where id = any(${unit}::ulid[])`.execute(ctx.db)
    await place(ctx, row, { workspaceId: row.workspace_id, folder }, name)
    await sql`update resources set status = 'active', trashed_from = null, trashed_at = null, trashed_by = null,
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
      where id = any(${[row.id, ...unit]}::ulid[])`.execute(ctx.db)
    const restored = await readFile(ctx, row.id)
    await tell(ctx, 'restored', restored)
    return restored
  })

/** Deletes a file permanently with everything trashed with it. Its content is deleted at the next sweep. */
export const remove = (ctx: Context, before: FileRow): Promise<void> =>
  ctx.transaction(async (ctx) => {
    await lockTree(ctx, [before.workspace_id], 'alone')
    await lockTrees(ctx, before.id)
    await lockResource(ctx, 'file', before.id)
    const row = await readFile(ctx, before.id)
    if (!row.trashed)
      refuse('invalid_state', {
        message: 'Only files and folders in the trash can be permanently deleted. Move it to the trash first.',
        details: { status: row.status, allowed: ['trash'] },
      })
    const unit = await unitOf(ctx, row)
    // In one statement, so storage is updated once, not per row.
    await sql`delete from file_versions where file_id = any(${unit}::ulid[])`.execute(ctx.db)
    await sql`delete from resources where id = any(${unit}::ulid[])`.execute(ctx.db)
    await tell(ctx, 'deleted', row)
  })

async function unitOf(ctx: Context, row: FileRow): Promise<Id[]> {
  const { rows } = await sql<{ id: Id }>`select id from files where trashed_with = ${row.trashed_with} and trashed
    and (id = ${row.id} or ancestors @> array[${row.id}::text])`.execute(ctx.db)
  return rows.map(({ id }) => id)
}
