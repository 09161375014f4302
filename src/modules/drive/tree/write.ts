import { sql } from 'kysely'
import { type StagedBlob } from '#infra/blobs/blobs.ts'
import { keepBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { insertResource, updateResource } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { tell } from './file-events.ts'
import { type Target, lockTarget, lockTree, readFile } from './locate.ts'
import { mimeTypeOf } from '../bytes/mime.ts'
import { aroundNumber } from '#core/files/numbered-name.ts'
import { placeBelow, checkDepth } from './names/names.ts'
import { checkRoom } from '../bytes/storage.ts'
import { type Content, type FileRow, fileStore } from '../store.ts'

export type OnConflict = 'fail' | 'rename' | 'version'
const MAX_VERSIONS = 200

export interface NewFile {
  name: string
  onConflict: OnConflict
  statedType: string | null
}

/** Stores bytes and passes them to `work`. On any failure the bytes are deleted. */
export async function staging<T>(
  ctx: Context,
  source: AsyncIterable<Uint8Array>,
  work: (staged: StagedBlob) => Promise<T>,
): Promise<T> {
  const { file } = ctx.engine.config.storage
  const staged = await ctx.engine.blobs.stage(source, { signal: ctx.signal, ...(file > 0 && { limit: file }) })
  try {
    return await work(staged)
  } catch (error) {
    await staged.discard()
    throw error
  }
}

/** Creates a file or, with `version`, the next version of the existing one. */
export async function putFile(
  ctx: Context,
  target: Target,
  { name, onConflict, statedType }: NewFile,
  staged: StagedBlob,
): Promise<{ row: FileRow; isNew: boolean }> {
  const mime = await mimeTypeOf(staged.head, name, statedType)
  return ctx.transaction(async (ctx) => {
    await lockTree(ctx, [target.workspaceId], 'shared')
    const { workspaceId, folder } = await lockTarget(ctx, target)
    const existing = onConflict === 'version' ? await heldByName(ctx, workspaceId, folder?.id ?? null, name) : undefined
    if (existing?.kind === 'file') return { row: await setContent(ctx, existing, staged, mime), isNew: false }
    await checkRoom(ctx, workspaceId, staged.size, 'held')
    await keepBlob(ctx, staged)
    const content = { sha256: staged.sha256, size_bytes: BigInt(staged.size), mime_type: mime }
    const row = await tryInsert(ctx, { workspaceId, folder }, name, onConflict, content)
    if (row !== null) return { row, isNew: true }
    // Created concurrently: the existing file gets these bytes.
    const quicker = onConflict === 'version' ? await heldByName(ctx, workspaceId, folder?.id ?? null, name) : undefined
    if (quicker?.kind !== 'file') return refuseTaken(ctx, workspaceId, folder?.id ?? null, name)
    const same = quicker.sha256 === staged.sha256
    return { row: same ? quicker : await nextVersion(ctx, quicker, content, null), isNew: false }
  })
}

/** The item with this name, locked if it is a file. Repeats if it was moved while waiting for the lock. */
async function heldByName(ctx: Context, workspaceId: Id, parentId: Id | null, name: string) {
  for (;;) {
    const existing = await fileStore.named(ctx.db, workspaceId, parentId, name)
    if (existing?.kind !== 'file') return existing
    await lock(ctx, existing)
    const stays = existing.workspace_id === workspaceId && existing.parent_id === parentId && existing.name === name
    if (stays && !existing.trashed) return existing
  }
}

type Bytes = Pick<Content, 'sha256' | 'size_bytes' | 'mime_type'>

/** Creates a file with its first version and event. The tree is locked and the bytes are stored. */
export const insert = async (
  ctx: Context,
  target: Target,
  name: string,
  onConflict: 'fail' | 'rename',
  content: Bytes | null,
): Promise<FileRow> =>
  (await tryInsert(ctx, target, name, onConflict, content)) ??
  refuseTaken(ctx, target.workspaceId, target.folder?.id ?? null, name)

async function tryInsert(
  ctx: Context,
  { workspaceId, folder }: Target,
  name: string,
  onConflict: OnConflict,
  content: Bytes | null,
): Promise<FileRow | null> {
  const id = newId()
  const register = await insertResource(ctx, { id, kind: 'file', workspace_id: workspaceId })
  const stored: Content =
    content === null
      ? { sha256: null, size_bytes: null, mime_type: null, content_version: 0, content_updated_at: null }
      : { ...content, content_version: 1, content_updated_at: register.updated_at }
  for (
    let candidate = name;
    ;
    candidate = await fileStore.freeName(ctx.db, workspaceId, folder?.id ?? null, aroundNumber(name))
  ) {
    const lies = placeBelow(folder, candidate)
    checkDepth(lies, 'parent_id')
    const row = {
      id,
      workspace_id: workspaceId,
      parent_id: folder?.id ?? null,
      kind: content === null ? 'folder' : 'file',
      name: candidate,
      ...lies,
      ...stored,
    } as const
    if (await fileStore.insert(ctx.db, row)) break
    // A free name was taken concurrently. Each round some writer succeeds, so this ends.
    if (onConflict === 'rename') continue
    await ctx.db.deleteFrom('resources').where('id', '=', id).execute()
    return null
  }
  if (content !== null)
    await fileStore.insertVersion(ctx.db, {
      id: newId(),
      file_id: id,
      workspace_id: workspaceId,
      version: 1,
      sha256: content.sha256!,
      size_bytes: content.size_bytes!,
      mime_type: content.mime_type!,
      restored_from: null,
      created_by: ctx.principal.accountId,
      created_at: register.updated_at,
    })
  const row = await readFile(ctx, id)
  await tell(ctx, 'created', row)
  return row
}

/** Sets the content of a locked file. The same bytes change nothing. */
export async function setContent(ctx: Context, before: FileRow, staged: StagedBlob, mime: string): Promise<FileRow> {
  if (before.sha256 === staged.sha256) {
    await staged.discard()
    return before
  }
  await checkRoom(ctx, before.workspace_id, staged.size, 'held')
  await keepBlob(ctx, staged)
  return nextVersion(ctx, before, { sha256: staged.sha256, size_bytes: BigInt(staged.size), mime_type: mime }, null)
}

/** The bytes are stored and the row is locked. */
export async function nextVersion(
  ctx: Context,
  before: FileRow,
  content: Bytes,
  restoredFrom: number | null,
): Promise<FileRow> {
  const version = before.content_version + 1
  const { updated_at } = await updateResource(ctx, before.id, {})
  await fileStore.setContent(ctx.db, before.id, {
    ...content,
    content_version: version,
    content_updated_at: updated_at,
  })
  await fileStore.insertVersion(ctx.db, {
    id: newId(),
    file_id: before.id,
    workspace_id: before.workspace_id,
    version,
    sha256: content.sha256!,
    size_bytes: content.size_bytes!,
    mime_type: content.mime_type!,
    restored_from: restoredFrom,
    created_by: ctx.principal.accountId,
    created_at: updated_at,
  })
  await fileStore.forgetVersions(ctx.db, before.id, version - MAX_VERSIONS)
  const row = await readFile(ctx, before.id)
  await tell(ctx, 'content_changed', row)
  return row
}

/** Locks the row and refreshes it. */
async function lock(ctx: Context, row: FileRow): Promise<void> {
  await sql`select 1 from resources where id = ${row.id} for update`.execute(ctx.db)
  Object.assign(row, await readFile(ctx, row.id))
}

/** Checks a name before receiving any bytes; the final insert decides. */
export async function checkFree(ctx: Context, { workspaceId, folder }: Target, name: string): Promise<void> {
  const parentId = folder?.id ?? null
  if ((await fileStore.named(ctx.db, workspaceId, parentId, name)) !== undefined)
    await refuseTaken(ctx, workspaceId, parentId, name)
}

export async function refuseTaken(
  ctx: Context,
  workspaceId: string,
  parentId: string | null,
  name: string,
  param = 'name',
): Promise<never> {
  const existing = await fileStore.named(ctx.engine.postgres.db, workspaceId, parentId, name)
  return refuse('already_exists', {
    param,
    message: `A ${existing?.kind ?? 'file'} with this name already exists.`,
    details: { id: existing?.id ?? null, kind: existing?.kind ?? null },
  })
}
