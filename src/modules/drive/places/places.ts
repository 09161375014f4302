import type { z } from 'zod'
import { sharedPlace } from '#authz/shares.ts'
import type { Context } from '#infra/context.ts'
import { visibleWorkspaces } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { type Membership, membershipIn } from '#core/principal.ts'
import { atLeast } from '#core/scopes.ts'
import { iso } from '#core/time.ts'
import type { FilePlace, FolderRows } from '../contract-app.ts'
import { showFile } from '../show.ts'
import { type FileRow, fileStore } from '../store.ts'
import { file, fileFor } from '../tree/locate.ts'

/** Rows per call, so a folder of 10,000 takes five. */
const MAX_ROWS = 2_000

type Access = z.output<typeof FilePlace>['access']

/** Returns a file or folder, its parents as far as the caller may read them, and the caller's access. */
export async function placeOf(ctx: Context): Promise<z.output<typeof FilePlace>> {
  const row = file.of(ctx)
  const shown = showFile(row)
  const { id, created_at, updated_at } = shown
  const parents = await fileStore.all(ctx.db, row.ancestors)
  const member = membershipIn(ctx.principal, row.workspace_id) !== null
  const readable = member ? parents : await sharedAbove(ctx, parents)
  const ancestors = readable.map((folder) => ({ id: folder.id, name: folder.name }))
  return { id, created_at, updated_at, file: shown, ancestors, access: accessOf(ctx.workspace!.membership, member) }
}

/** A share covers everything below a folder, so the readable parents start at the shared one. */
async function sharedAbove(ctx: Context, parents: readonly FileRow[]): Promise<readonly FileRow[]> {
  for (const [at, folder] of parents.entries())
    if ((await sharedPlace(ctx.db, ctx.principal, 'file', folder)) !== null) return parents.slice(at)
  return []
}

function accessOf({ role, permissions, status }: Membership, member: boolean): Access {
  const writes = atLeast(role, 'member') && (permissions === null || permissions.has('drive:write'))
  if (!writes || status === 'archived') return 'view'
  return member ? 'all' : 'edit'
}

export async function rowsOf(
  ctx: Context,
  {
    workspace_id,
    parent_id,
    before,
  }: { workspace_id?: Id | undefined; parent_id?: Id | undefined; before?: Id | undefined },
): Promise<z.output<typeof FolderRows>> {
  const where = await whereOf(ctx, workspace_id, parent_id)
  const rows = await fileStore.list(ctx.db, {
    workspaces: [where.workspaceId],
    parent: where.parent,
    kind: null,
    status: 'active',
    before: before ?? null,
    limit: MAX_ROWS + 1,
  })
  const files = rows.slice(0, MAX_ROWS).map(showFile)
  return { ...where.base, files, next: rows.length > MAX_ROWS ? files.at(-1)!.id : null }
}

export async function latestOf(
  ctx: Context,
  { workspace_id, cursor, limit }: { workspace_id?: Id | undefined; cursor?: string | undefined; limit: number },
) {
  const filters = { workspace_id }
  const after = positionOf('latest_files', filters, cursor)
  const rows = await fileStore.latest(ctx.db, {
    workspaces: visibleWorkspaces(ctx, 'drive:read', workspace_id),
    after: after && { at: momentAt(after), id: after[1] as Id },
    limit: limit + 1,
  })
  return pageOf(
    rows,
    limit,
    ({ content_updated_at, id }) => cursorOf('latest_files', filters, [iso(content_updated_at!), id]),
    showFile,
  )
}

function momentAt([at]: readonly (string | number)[]): Date {
  // Four-digit years only: `Date` allows moments that PostgreSQL doesn't.
  const moment = typeof at === 'string' && /^\d{4}-/.test(at) ? new Date(at) : null
  return moment === null || Number.isNaN(moment.getTime()) ? refuse('invalid_cursor', { param: 'cursor' }) : moment
}

async function whereOf(ctx: Context, workspaceId: Id | undefined, parentId: Id | undefined) {
  if (parentId !== undefined) {
    const folder = await fileFor(ctx, parentId, 'drive:read', 'parent_id')
    if (folder.kind !== 'folder')
      refuse('invalid_parameter', { param: 'parent_id', message: 'This is a file, not a folder.' })
    if (workspaceId !== undefined && workspaceId !== folder.workspace_id)
      refuse('invalid_parameter', { param: 'workspace_id', message: 'The folder is in another workspace.' })
    const { id, created_at, updated_at } = folder
    return {
      workspaceId: folder.workspace_id,
      parent: folder.id,
      base: { id, created_at: iso(created_at), updated_at: iso(updated_at) },
    }
  }
  const id = ctx.workspace!.id
  const { created_at, updated_at } = await ctx.db
    .selectFrom('workspaces')
    .select(['created_at', 'updated_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return {
    workspaceId: id,
    parent: 'root' as const,
    base: { id, created_at: iso(created_at), updated_at: iso(updated_at) },
  }
}
