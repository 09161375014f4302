import { sql } from 'kysely'
import { lockBlobs } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkFresh } from './edit.ts'
import { checkRoom } from '../bytes/storage.ts'
import { type FileRow, type FileVersionRow, fileStore } from '../store.ts'
import { lockFile } from './move.ts'
import { nextVersion } from './write.ts'

export async function versionOf(
  ctx: Context,
  fileId: Id,
  { version, version_id }: { version?: number | undefined; version_id?: Id | undefined },
): Promise<FileVersionRow> {
  if (version === undefined && version_id === undefined)
    return refuse('missing_parameter', { param: 'version', message: 'Send `version` or `version_id`.' })
  const row = await fileStore.version(ctx.db, fileId, { version: version ?? null, id: version_id ?? null })
  return (
    row ??
    refuse('not_found', {
      param: version === undefined ? 'version_id' : 'version',
      message: 'The version doesn’t exist, or it’s no longer kept.',
    })
  )
}

/** Makes an earlier version's content the newest version. Later versions are kept. */
export const restoreVersion = (
  ctx: Context,
  before: FileRow,
  { id }: FileVersionRow,
  expected: Date | null,
): Promise<FileRow> =>
  ctx.transaction(async (ctx) => {
    const row = await lockFile(ctx, before.id)
    checkFresh(row, { name: null, content: Buffer.alloc(0), expected })
    const { rows } = await sql<FileVersionRow>`select * from file_versions where id = ${id} for share`.execute(ctx.db)
    const old = rows[0] ?? refuse('not_found', { param: 'version' })
    if (old.sha256 === row.sha256) return row
    await checkRoom(ctx, row.workspace_id, Number(old.size_bytes), 'held')
    await lockBlobs(ctx.db, [old.sha256])
    const { sha256, size_bytes, mime_type } = old
    return nextVersion(ctx, row, { sha256, size_bytes, mime_type }, old.version)
  })
