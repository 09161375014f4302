import { basename } from 'node:path/posix'
import type { Context, Engine } from '#infra/context.ts'
import { type Bytes, isStored } from '#core/answers.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import { type Status, visibleWorkspaces } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf, wholeAt } from '#core/paging.ts'
import { membershipIn } from '#core/principal.ts'
import { iso } from '#core/time.ts'
import { archiveOf } from './tree/archive.ts'
import { drive } from './contract.ts'
import { latestOf, placeOf, rowsOf } from './places/places.ts'
import { copy } from './tree/copy.ts'
import { bytesOf } from './bytes/download.ts'
import { edit } from './tree/edit.ts'
import { file, fileFor, lockTarget, lockTree, targetOf } from './tree/locate.ts'
import { findByGlob } from './find/glob.ts'
import { grep } from './find/grep.ts'
import { forgetLinks, mintLink } from './bytes/link.ts'
import { checkName, safeName } from './tree/names/names.ts'
import { showFile, showUpload, showVersion, uploadHeaders } from './show.ts'
import { addUpStorage, checkRoom } from './bytes/storage.ts'
import { fileStore } from './store.ts'
import { readText } from './text/read-text.ts'
import { type HasThumbnails, forgetThumbnails, thumbnailOf } from './bytes/thumbnail.ts'
import { move, remove, restore, trash } from './tree/move.ts'
import { checkKept, upload } from './uploads/locate-upload.ts'
import { append, begin, expireUploads, withTusHeaders, terminate } from './uploads/receive.ts'
import { restoreVersion, versionOf } from './tree/versions.ts'
import { checkFree, insert, putFile, staging } from './tree/write.ts'

export { fileSearchable, learnFile } from './text/searchable.ts'
export { storedByWorkspace } from './bytes/storage.ts'
export { safeHeaders } from './bytes/download.ts'

export const driveService = implementWith<Context<HasThumbnails>>()(
  drive,
  {
    async list(ctx, { workspace_id, parent_id, kind, status, cursor, limit }) {
      const filters = { workspace_id, parent_id, kind, status }
      const before = positionOf('files', filters, cursor)
      const rows = await fileStore.list(ctx.db, {
        workspaces: await workspacesOf(ctx, workspace_id, parent_id, status),
        parent: parent_id ?? null,
        kind: kind ?? null,
        status,
        before: (before?.[0] as Id) ?? null,
        limit: limit + 1,
      })
      return pageOf(rows, limit, ({ id }) => cursorOf('files', filters, [id]), showFile)
    },

    metadata: (ctx) => showFile(file.of(ctx)),

    async download(ctx, { version, disposition }) {
      const row = file.of(ctx)
      if (version === undefined || row.kind === 'folder') return bytesOf(ctx.engine, row, disposition)
      const { sha256, size_bytes, mime_type, created_at } = await versionOf(ctx, row.id, { version })
      const then = { name: row.name, sha256, size_bytes, mime_type, content_updated_at: created_at }
      return bytesOf(ctx.engine, then, disposition)
    },

    async content(ctx, { offset, limit, tail, pattern, context, case: how }) {
      const row = file.of(ctx)
      if (tail !== undefined && (pattern !== undefined || offset > 0))
        refuse('invalid_parameter', { param: 'tail', message: 'Send either `tail`, or `offset` or `pattern`.' })
      const text = await readText(
        { ...ctx, account: ctx.principal.accountId },
        row,
        tail !== undefined
          ? { kind: 'tail', lines: tail }
          : pattern === undefined
            ? { kind: 'page', offset, limit }
            : { kind: 'pattern', pattern: { line: pattern, case: how }, context, offset, limit },
      )
      const { id, created_at, content_version, content_updated_at } = showFile(row)
      return { id, created_at, ...text, content_version, content_updated_at }
    },

    async upload(ctx, given) {
      const { workspace_id, parent_id, mime_type, on_conflict: onConflict, content, encoding, computer_source } = given
      const target = await targetOf(ctx, { workspace_id, parent_id })
      const name = nameFor(
        given.name,
        ctx.upload?.name ?? null,
        computer_source ? basename(computer_source.path) : null,
      )
      if (ctx.upload !== null && content !== undefined)
        refuse('invalid_parameter', { param: 'content', message: 'Send `content` or the part `file`, not both.' })
      if (computer_source !== undefined && (ctx.upload !== null || content !== undefined))
        refuse('invalid_parameter', { param: 'computer_source', message: 'Send bytes or `computer_source`, not both.' })
      const sentBytes = ctx.upload?.bytes ?? (content === undefined ? null : [decoded(content, encoding)])
      if (sentBytes === null && computer_source === undefined)
        return refuse('missing_parameter', {
          param: 'file',
          message: 'Send the part `file`, or `content`, or `computer_source`.',
        })
      // Fails before a gigabyte is received.
      if (onConflict === 'fail') await checkFree(ctx, target, name)
      const source = computer_source === undefined ? null : await onComputer(ctx, computer_source)
      const bytes = source?.bytes ?? sentBytes!
      await checkRoom(ctx, target.workspaceId, source?.size ?? 1, 'now')
      const statedType = mime_type ?? ctx.upload?.mimeType ?? null
      return staging(ctx, each(bytes), async (staged) => {
        // Checked again: the upload may have taken hours, and the sender may have lost access.
        const target = await targetOf(ctx, { workspace_id, parent_id })
        const { row, isNew } = await putFile(ctx, target, { name, onConflict, statedType }, staged)
        ctx.answer.status = isNew ? 201 : 200
        return showFile(row)
      })
    },

    async create_folder(ctx, { workspace_id, parent_id, name: given }) {
      const target = await targetOf(ctx, { workspace_id, parent_id })
      const name = checkName(given)
      const existing = await fileStore.named(ctx.db, target.workspaceId, target.folder?.id ?? null, name)
      if (existing !== undefined) return showExisting(ctx, existing)
      try {
        return await ctx.transaction(async (ctx) => {
          await lockTree(ctx, [target.workspaceId], 'shared')
          return showFile(await insert(ctx, await lockTarget(ctx, target), name, 'fail', null))
        })
      } catch (error) {
        const existing = await fileStore.named(ctx.db, target.workspaceId, target.folder?.id ?? null, name)
        if (existing === undefined) throw error
        return showExisting(ctx, existing)
      }
    },

    async update(ctx, { name, content, encoding, expected_updated_at }) {
      const row = await edit(ctx, file.of(ctx), {
        name: name === undefined ? null : checkName(name),
        content: content === undefined ? null : decoded(content, encoding),
        expected: expected_updated_at ?? null,
      })
      return showFile(row)
    },

    async trash(ctx, { id }) {
      await trash(ctx, file.of(ctx))
      return { id }
    },

    restore: async (ctx) => showFile(await restore(ctx, file.of(ctx))),

    async permanent_delete(ctx, { id }) {
      await remove(ctx, file.of(ctx))
      return { id }
    },

    async move(ctx, { parent_id, workspace_id }) {
      const row = file.of(ctx)
      const staysAtHome = parent_id === null && (workspace_id ?? row.workspace_id) === row.workspace_id
      const target = staysAtHome
        ? { workspaceId: row.workspace_id, folder: null }
        : await targetOf(ctx, { workspace_id, ...(parent_id !== null && { parent_id }) })
      return showFile(await move(ctx, row, target))
    },

    async signed_url(ctx, { expires_in_seconds, single_use, disposition, method }) {
      const row = file.of(ctx)
      if (row.trashed || row.kind === 'folder')
        refuse('invalid_state', {
          message: row.trashed
            ? 'Links can’t be created for a file in the trash. Restore it first.'
            : 'Links can’t be created for folders.',
          details: { status: row.status, allowed: row.trashed ? ['restore'] : [] },
        })
      const { url, expires_at } = await mintLink(ctx, row, {
        seconds: expires_in_seconds,
        once: single_use,
        disposition,
      })
      return {
        id: row.id,
        created_at: iso(row.created_at),
        url,
        expires_at: iso(expires_at),
        method,
        single_use,
        disposition,
      }
    },

    async content_versions(ctx, { id, cursor, limit }) {
      const before = wholeAt(positionOf('file_versions', id, cursor), 0)
      const rows = await fileStore.versions(ctx.db, id, before, limit + 1)
      const present = file.of(ctx).content_version
      return pageOf(
        rows,
        limit,
        ({ version }) => cursorOf('file_versions', id, [version]),
        (row) => showVersion(row, present),
      )
    },

    glob: (ctx, query) => findByGlob(ctx, query),

    grep: (ctx, query) => grep(ctx, query),

    async restore_content_version(ctx, { id, version, version_id, expected_updated_at }) {
      const old = await versionOf(ctx, id, { version, version_id })
      return showFile(await restoreVersion(ctx, file.of(ctx), old, expected_updated_at ?? null))
    },

    async copy(ctx, { workspace_id, parent_id, name }) {
      const row = file.of(ctx)
      const target = await targetOf(ctx, { workspace_id, parent_id })
      return showFile(await copy(ctx, row, target, name === undefined ? row.name : checkName(name)))
    },

    place: (ctx) => placeOf(ctx),

    rows: (ctx, query) => rowsOf(ctx, query),

    latest: (ctx, query) => latestOf(ctx, query),

    archive: (ctx) => archiveOf(ctx, file.of(ctx)),

    thumbnail: (ctx, { size }) => thumbnailOf(ctx, file.of(ctx), Number(size)),

    begin_upload: (ctx, input) =>
      withTusHeaders(ctx, async () => {
        const row = await begin(ctx, input)
        ctx.answer.status = 201
        Object.assign(ctx.answer.headers, {
          location: `${ctx.engine.origin()}/v1/drive/uploads/${row.id}`,
          'upload-expires': row.expires_at.toUTCString(),
        })
      }),

    get_upload: (ctx) =>
      withTusHeaders(ctx, async () => {
        const row = upload.of(ctx)
        checkKept(row)
        Object.assign(ctx.answer.headers, uploadHeaders(row))
        return showUpload(row)
      }),

    append_upload: (ctx, input) =>
      withTusHeaders(ctx, async () => {
        const { offset, fileId } = await append(ctx, input)
        ctx.answer.headers['upload-offset'] = String(offset)
        if (fileId === null) ctx.answer.headers['upload-expires'] = upload.of(ctx).expires_at.toUTCString()
        else ctx.answer.headers['x-uk-file-id'] = fileId
      }),

    terminate_upload: (ctx, { tus_resumable }) => withTusHeaders(ctx, () => terminate(ctx, tus_resumable)),
  },
  [file, upload],
)

function showExisting(ctx: Context, row: Parameters<typeof showFile>[0]) {
  if (row.kind !== 'folder')
    refuse('already_exists', {
      param: 'name',
      message: 'A file with this name already exists.',
      details: { id: row.id, kind: row.kind },
    })
  ctx.answer.status = 200
  return showFile(row)
}

async function workspacesOf(
  ctx: Context,
  workspaceId: Id | undefined,
  parentId: string | undefined,
  status: Status,
): Promise<Id[]> {
  if (parentId === undefined || parentId === 'root') return visibleWorkspaces(ctx, 'drive:read', workspaceId)
  const folder = await fileFor(ctx, parentId, 'drive:read', 'parent_id')
  if (folder.kind !== 'folder')
    refuse('invalid_parameter', { param: 'parent_id', message: 'This is a file, not a folder.' })
  // A share of a folder excludes what was trashed from it.
  if (status === 'trashed' && membershipIn(ctx.principal, folder.workspace_id) === null) return []
  return workspaceId === undefined || workspaceId === folder.workspace_id ? [folder.workspace_id] : []
}

/** The given name, else that of the form part, kept unchanged or rejected, else that of the computer's file. */
function nameFor(requested: string | undefined, formName: string | null, computerName: string | null): string {
  if (requested !== undefined) return checkName(requested)
  if (formName !== null) return checkName(formName, 'file', 'The file name of the part `file`')
  return computerName === null
    ? refuse('missing_parameter', { param: 'name', message: '`name` is required.' })
    : safeName(computerName)
}

export function decoded(content: string, encoding: 'utf8' | 'base64', param = 'content'): Buffer {
  if (encoding === 'utf8') return Buffer.from(content.toWellFormed(), 'utf8')
  const bytes = Buffer.from(content, 'base64')
  if (bytes.toString('base64').replaceAll('=', '') !== content.replaceAll(/=|\s/g, ''))
    refuse('invalid_parameter', { param, message: `\`${param}\` isn’t valid base64.` })
  return bytes
}

async function* each(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* parts
}

export const driveSchedules = (engine: Engine): Schedule[] => [
  every('storage.add_up', 60, () => addUpStorage(engine)),
  every('links.forget', 3600, () => forgetLinks(engine)),
  every('thumbnails.forget', 3600, () => forgetThumbnails(engine)),
  every('uploads.expire', 600, () => expireUploads(engine)),
]

export { type Attachment, attach, bytesAttached, carry, textAttached } from './text/attachment.ts'
export { type HasThumbnails, createThumbnails } from './bytes/thumbnail.ts'
export {
  type GeneratedFile,
  type GeneratedTarget,
  checkGeneratedTarget,
  keepGenerated,
} from './generated/keep-generated.ts'
export { mintLink } from './bytes/link.ts'
export { showFile } from './show.ts'
export type { FileRow } from './store.ts'
export { type ReadableFile, readableFile } from './tree/readable-file.ts'
export { dropFilesOf } from './tree/copy.ts'

/** Reads a computer's file with the permissions its download requires. */
async function onComputer(
  ctx: Context,
  { computer_id, path }: { computer_id: Id; path: string },
): Promise<{ size: number | null; bytes: AsyncIterable<Uint8Array> }> {
  const { body } = (await ctx.invoke('computers.download', { id: computer_id, path })) as Bytes
  if (isStored(body)) return { size: body.size, bytes: body.read({ start: 0, end: body.size }) }
  // A generated file's size is known only at its end.
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body) return { size: null, bytes: body }
  return refuse('invalid_state', { param: 'computer_source' })
}
