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

/** The place for a model's work: a folder, or the one for such files at the root of a workspace. */
export interface GeneratedTarget {
  workspaceId: Id
  folderId: Id | null
}

export interface GeneratedFile {
  /** The file's name with its ending; where the name is taken it becomes `name (2).ext`. */
  name: string
  staged: StagedBlob
  type: string
}

const FOLDER = 'Generated'

/**
 * The scope for keeping a model's work: whoever may run models in a workspace may keep the results there, without a
 * scope of the drive.
 */
const SCOPE = 'inference:run'

/** Refuses what could not be kept there in the end, before anything is asked for: the role, the folder, the room. */
export async function checkGeneratedTarget(ctx: Context, target: GeneratedTarget): Promise<void> {
  const { workspaceId } = await placeOf(ctx, target)
  await checkRoom(ctx, workspaceId, 1, 'now')
}

/** Within a transaction: all of these files, or none. */
export async function keepGenerated(
  ctx: Context,
  target: GeneratedTarget,
  files: readonly GeneratedFile[],
): Promise<FileRow[]> {
  const given = await placeOf(ctx, target)
  await lockTree(ctx, [given.workspaceId], 'shared')
  const { workspaceId, folder } =
    target.folderId === null ? await generatedFolder(ctx, given) : await lockTarget(ctx, given)
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

/** Made when it is first needed. Where a file has its name, the root of the workspace does. */
async function generatedFolder(ctx: Context, root: Target): Promise<Target> {
  const { workspaceId } = root
  for (let made = false; ; made = true) {
    const there = await fileStore.named(ctx.db, workspaceId, null, FOLDER)
    if (there !== undefined) return there.kind === 'folder' ? { workspaceId, folder: there } : root
    if (made) return root
    try {
      return { workspaceId, folder: await insert(ctx, root, FOLDER, 'fail', null) }
    } catch (error) {
      // Somebody else was quicker.
      if (!(error instanceof Refusal)) throw error
    }
  }
}
