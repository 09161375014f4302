import { sql } from 'kysely'
import { lockBlobs } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Target, lockTarget, lockTree } from './locate.ts'
import { checkRoom } from '../bytes/storage.ts'
import { type FileRow, fileStore } from '../store.ts'
import { insert } from './write.ts'

const MAX_COPIED = 5_000

/** Copies a file or folder into a folder. The history starts anew, and the content is shared. */
export function copy(ctx: Context, row: FileRow, to: Target, name: string): Promise<FileRow> {
  if (row.trashed)
    refuse('invalid_state', {
      message: `This ${row.kind} is in the trash, so it can’t be copied. Restore it first.`,
      details: { status: 'trashed', allowed: ['restore'] },
    })
  return ctx.transaction(async (ctx) => {
    await lockTree(ctx, [row.workspace_id, to.workspaceId], 'shared')
    const target = await lockTarget(ctx, to)
    const rows = row.kind === 'file' ? [row] : await withAllBelow(ctx, row)
    await checkRoom(
      ctx,
      target.workspaceId,
      rows.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0),
      'held',
    )
    const hashes = new Set(rows.flatMap(({ sha256 }) => sha256 ?? []))
    if ((await lockBlobs(ctx.db, [...hashes])).size < hashes.size)
      throw new Error(`some bytes of ${row.id} have no row`)
    const copies = new Map<Id, FileRow>()
    for (const one of rows) {
      const { sha256, size_bytes, mime_type } = one
      const content = sha256 === null ? null : { sha256, size_bytes, mime_type }
      const first = one.id === row.id
      const place = first ? target : { workspaceId: target.workspaceId, folder: copies.get(one.parent_id!)! }
      copies.set(one.id, await insert(ctx, place, first ? name : one.name, first ? 'rename' : 'fail', content))
    }
    return copies.get(row.id)!
  })
}

async function withAllBelow(ctx: Context, row: FileRow): Promise<FileRow[]> {
  const rows = await fileStore.below(ctx.db, row, MAX_COPIED)
  if (rows.length >= MAX_COPIED)
    refuse('limit_reached', {
      message: `A folder with more than ${MAX_COPIED - 1} entries can’t be copied.`,
      details: { limit: MAX_COPIED - 1 },
    })
  return [row, ...rows]
}

/** Deletes a workspace's files before the workspace, so their storage is subtracted in one statement. */
export async function dropFilesOf(ctx: Pick<Context, 'db'>, workspaceId: Id): Promise<void> {
  await sql`delete from file_versions where workspace_id = ${workspaceId}`.execute(ctx.db)
}
