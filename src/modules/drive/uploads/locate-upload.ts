import type { Context } from '#infra/context.ts'
import { sharedPlace } from '#authz/shares.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { membershipIn } from '#core/principal.ts'
import { fileStore } from '../store.ts'
import { type UploadRow, uploadStore } from './upload-store.ts'

const MAX_BYTES = 5 * 2 ** 40

/**
 * An upload is visible only to its sender, while they have access to its target: in the workspace or by a share of
 * the folder.
 */
export const upload = finder('upload', async (ctx: Context, id) => {
  const row = await uploadStore.get(ctx.db, id)
  if (row === undefined || row.account_id !== ctx.principal.accountId) return null
  return { ...row, place: await placeByFolder(ctx, row) }
})
async function placeByFolder({ db, principal }: Context, { workspace_id, parent_id }: UploadRow) {
  if (parent_id === null || membershipIn(principal, workspace_id) !== null) return null
  const folder = await fileStore.get(db, parent_id)
  return folder === undefined || folder.trashed ? null : sharedPlace(db, principal, 'file', folder)
}

export function checkLength(ctx: Context, length: number): void {
  const most = ctx.engine.config.storage.file || MAX_BYTES
  if (length > most)
    refuse('payload_too_large', {
      message: `A file can have up to ${most} bytes.`,
      details: { limit_bytes: most },
      headers: { 'tus-max-size': String(most) },
    })
}

export function checkKept(row: Pick<UploadRow, 'expires_at'>): void {
  if (row.expires_at.getTime() <= Date.now())
    refuse('content_expired', { message: 'The upload has expired. Start a new one.' })
}
