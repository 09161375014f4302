import { sql } from 'kysely'
import type { Context } from '#infra/context.ts'
import { checkTarget } from '#authz/resources.ts'
import { sharedPlace } from '#authz/shares.ts'
import { finder } from '#core/context.ts'
import { absent, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { membershipIn } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import { type FileRow, fileStore } from '../store.ts'

export const file = finder('file', async (ctx: Context, id) => (await fileStore.get(ctx.db, id)) ?? null)

export const readFile = async (ctx: Context, id: Id, param = 'id'): Promise<FileRow> =>
  (await fileStore.get(ctx.db, id)) ?? refuse('not_found', { param })

/** A file or folder that a request names outside its path, if the caller has `scope` for it. */
export async function fileFor(ctx: Context, id: Id, scope: Scope, param: string): Promise<FileRow> {
  const notFound = { param, message: absent('file or folder', id) }
  const row = (await fileStore.get(ctx.db, id)) ?? refuse('not_found', notFound)
  const place =
    membershipIn(ctx.principal, row.workspace_id) ??
    (row.trashed ? null : await sharedPlace(ctx.db, ctx.principal, 'file', row)) ??
    refuse('not_found', notFound)
  checkPlace(place, scope)
  if (!scope.endsWith(':read')) checkWritable(place)
  return row
}

export interface Target {
  workspaceId: Id
  folder: FileRow | null
}

export async function targetOf(
  ctx: Context,
  { workspace_id, parent_id }: { workspace_id?: Id | undefined; parent_id?: Id | undefined },
): Promise<Target> {
  if (parent_id !== undefined) {
    const folder = checkFolder(await fileFor(ctx, parent_id, 'drive:write', 'parent_id'))
    if (workspace_id !== undefined && workspace_id !== folder.workspace_id)
      refuse('invalid_parameter', { param: 'workspace_id', message: 'The folder is in another workspace.' })
    return { workspaceId: folder.workspace_id, folder }
  }
  if (workspace_id === undefined)
    return refuse('missing_parameter', { param: 'workspace_id', message: 'Send `workspace_id` or `parent_id`.' })
  checkTarget(ctx, workspace_id, 'drive:write')
  return { workspaceId: workspace_id, folder: null }
}

export function checkFolder(row: FileRow, param = 'parent_id'): FileRow {
  if (row.kind !== 'folder') refuse('invalid_parameter', { param, message: 'This is a file, not a folder.' })
  if (row.trashed)
    refuse('invalid_state', {
      param,
      message: 'This folder is in the trash. Restore it before you change it.',
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
  return row
}

/**
 * Locks workspaces' trees within a transaction: shared for adding an item, exclusive for moving folders. This keeps
 * paths consistent and prevents moves from forming a cycle.
 */
export async function lockTree(ctx: Context, workspaceIds: readonly Id[], how: 'shared' | 'alone'): Promise<void> {
  const take = sql.raw(how === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared')
  for (const id of [...new Set(workspaceIds)].sort())
    await sql`select ${take}(hashtextextended(${`drive ${id}`}, 0))`.execute(ctx.db)
}

export async function lockTarget(ctx: Context, { workspaceId, folder }: Target): Promise<Target> {
  if (folder === null) return { workspaceId, folder }
  const row = (await fileStore.get(ctx.db, folder.id)) ?? refuse('not_found', { param: 'parent_id' })
  if (row.workspace_id !== workspaceId) refuse('not_found', { param: 'parent_id' })
  return { workspaceId, folder: checkFolder(row) }
}
