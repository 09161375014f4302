import type { Context } from '#engine/context.ts'
import { sharedPlace } from '#engine/shares.ts'
import { finder } from '#kernel/context.ts'
import { refuse } from '#kernel/errors.ts'
import { isHeldToOne, membershipIn } from '#kernel/principal.ts'
import { fileStore } from './store.ts'
import { type UploadRow, uploadStore } from './upload-store.ts'

const MOST_BYTES = 5 * 2 ** 40

/** An upload belongs to who began it, wherever the file will lie; a key of one workspace knows only of what goes there. */
export const upload = finder('upload', async (ctx: Context, id) => {
  const row = await uploadStore.get(ctx.db, id)
  return row === undefined || !(await isInReach(ctx, row)) ? null : owned(row)
})
async function isInReach({ db, principal }: Context, { workspace_id, parent_id }: UploadRow): Promise<boolean> {
  if (!isHeldToOne(principal) || membershipIn(principal, workspace_id) !== null) return true
  const folder = parent_id === null ? undefined : await fileStore.get(db, parent_id)
  return folder !== undefined && (await sharedPlace(db, principal, 'file', folder)) !== null
}
export const owned = (row: UploadRow) => ({ ...row, target_workspace_id: row.workspace_id, workspace_id: null })
export type FoundUpload = ReturnType<typeof upload.of>

export function checkLength(ctx: Context, length: number): void {
  const most = ctx.engine.config.storage.file || MOST_BYTES
  if (length > most)
    refuse('payload_too_large', {
      message: `A file may hold ${most} bytes at most.`,
      details: { limit_bytes: most },
      headers: { 'tus-max-size': String(most) },
    })
}

export function checkKept(row: Pick<UploadRow, 'expires_at'>): void {
  if (row.expires_at.getTime() <= Date.now())
    refuse('content_expired', { message: 'The upload was not finished in time. Begin again.' })
}
