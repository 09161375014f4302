import type { StagedBlob } from '#infra/blobs/blobs.ts'
import { keepBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { placeIn } from '#authz/resources.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { checkRoom } from '../bytes/storage.ts'
import { mimeTypeOf } from '../bytes/mime.ts'
import { type FileRow, fileStore } from '../store.ts'
import { type Target, checkFolder, fileFor, lockTarget, lockTree } from '../tree/locate.ts'
import { safeName } from '../tree/names/names.ts'
import { insert } from '../tree/write.ts'

/** Where to store generated files: a folder, or the workspace's folder for generated files. */
export interface GeneratedTarget {
  workspaceId: Id
  folderId: Id | null
}

export interface GeneratedFile {
  /** The file name with extension; an existing one becomes `name (2).ext`. */
  name: string
  staged: StagedBlob
  type: string
}

const FOLDER = 'Generated'

/**
 * The scope for storing generated files: models may be run in a workspace without drive scopes, and so may their
 * results be stored.
 */
const SCOPE = 'inference:run'

/** Rejects a target where storing would fail later: by role, folder or storage limit. */
export async function checkGeneratedTarget(ctx: Context, target: GeneratedTarget): Promise<void> {
  const { workspaceId } = await placeOf(ctx, target)
  await checkRoom(ctx, workspaceId, 1, 'now')
}

/** Stores all files or none. Call within a transaction. */
export async function keepGenerated(
  ctx: Context,
  target: GeneratedTarget,
  files: readonly GeneratedFile[],
): Promise<FileRow[]> {
  const root = await placeOf(ctx, target)
  await lockTree(ctx, [root.workspaceId], 'shared')
  const { workspaceId, folder } =
    target.folderId === null ? await generatedFolder(ctx, root) : await lockTarget(ctx, root)
  await checkRoom(
    ctx,
    workspaceId,
    files.reduce((sum, { staged }) => sum + staged.size, 0),
    'held',
  )
  const rows: FileRow[] = []
  for (const { name, staged, type } of files) {
    const clean = safeName(name)
    const mime_type = await mimeTypeOf(staged.head, clean, type)
    await keepBlob(ctx, staged)
    const content = { sha256: staged.sha256, size_bytes: BigInt(staged.size), mime_type }
    rows.push(await insert(ctx, { workspaceId, folder }, clean, 'rename', content))
  }
  return rows
}

async function placeOf(ctx: Context, { workspaceId, folderId }: GeneratedTarget): Promise<Target> {
  if (folderId !== null) {
    const folder = checkFolder(await fileFor(ctx, folderId, SCOPE, 'parent_id'))
    return { workspaceId: folder.workspace_id, folder }
  }
  const membership = placeIn(ctx, workspaceId)
  checkPlace(membership, SCOPE)
  checkWritable(membership)
  return { workspaceId, folder: null }
}

async function generatedFolder(ctx: Context, root: Target): Promise<Target> {
  const { workspaceId } = root
  for (let isRetry = false; ; isRetry = true) {
    const existing = await fileStore.named(ctx.db, workspaceId, null, FOLDER)
    if (existing !== undefined) return existing.kind === 'folder' ? { workspaceId, folder: existing } : root
    if (isRetry) return root
    try {
      return { workspaceId, folder: await insert(ctx, root, FOLDER, 'fail', null) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  }
}
