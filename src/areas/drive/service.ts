import { type Context, type Engine, implement } from '#engine/context.ts'
import { type Schedule, every } from '#engine/jobs.ts'
import { visibleWorkspaces } from '#engine/resources.ts'
import { refuse } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { cursorOf, pageOf, positionOf } from '#kernel/paging.ts'
import { drive } from './contract.ts'
import { bytesOf } from './download.ts'
import { file, fileFor, heldTarget, holdTree, targetOf } from './find.ts'
import { checkName, tamed } from './names.ts'
import { showFile } from './show.ts'
import { addUpStorage, checkRoom } from './storage.ts'
import { fileStore } from './store.ts'
import { insert, putFile, refuseTaken, staging } from './write.ts'

export const driveService = implement(
  drive,
  {
    async list(ctx, { workspace_id, parent_id, kind, status, cursor, limit }) {
      const filters = { workspace_id, parent_id, kind, status }
      const before = positionOf('files', filters, cursor)
      const rows = await fileStore.list(ctx.db, {
        workspaces: await workspacesOf(ctx, workspace_id, parent_id),
        parent: parent_id ?? null,
        kind: kind ?? null,
        status,
        before: (before?.[0] as Id) ?? null,
        limit: limit + 1,
      })
      return pageOf(rows, limit, ({ id }) => cursorOf('files', filters, [id]), showFile)
    },

    metadata: (ctx) => showFile(file.of(ctx)),

    download: (ctx) => bytesOf(ctx.engine, file.of(ctx)),

    async upload(ctx, { workspace_id, parent_id, name: given, mime_type, on_conflict: onConflict, content, encoding }) {
      const target = await targetOf(ctx, { workspace_id, parent_id })
      const name = nameFor(given, ctx.upload?.name ?? null)
      if (ctx.upload !== null && content !== undefined)
        refuse('invalid_parameter', { param: 'content', message: 'Send `content` or the part `file`, not both.' })
      const bytes = ctx.upload?.bytes ?? (content === undefined ? null : [decoded(content, encoding)])
      if (bytes === null)
        return refuse('missing_parameter', { param: 'file', message: 'Send the part `file`, or `content`.' })
      // Known before a gigabyte has come.
      if (onConflict === 'fail') await checkFree(ctx, target.workspaceId, target.folder?.id ?? null, name)
      await checkRoom(ctx, target.workspaceId, 1, 'now')
      const said = mime_type ?? ctx.upload?.mimeType ?? null
      return staging(ctx, each(bytes), async (staged) => {
        const { row, made } = await putFile(ctx, target, { name, onConflict, said }, staged)
        ctx.answer.status = made ? 201 : 200
        return showFile(row)
      })
    },

    async create_folder(ctx, { workspace_id, parent_id, name: given }) {
      const target = await targetOf(ctx, { workspace_id, parent_id })
      const name = checkName(given)
      const there = await fileStore.named(ctx.db, target.workspaceId, target.folder?.id ?? null, name)
      if (there !== undefined) return showExisting(ctx, there)
      try {
        return await ctx.transaction(async (ctx) => {
          await holdTree(ctx, [target.workspaceId], 'shared')
          return showFile(await insert(ctx, await heldTarget(ctx, target), name, 'fail', null))
        })
      } catch (error) {
        // Somebody else was quicker.
        const there = await fileStore.named(ctx.db, target.workspaceId, target.folder?.id ?? null, name)
        if (there === undefined) throw error
        return showExisting(ctx, there)
      }
    },
  },
  [file],
)

function showExisting(ctx: Context, row: Parameters<typeof showFile>[0]) {
  if (row.kind !== 'folder')
    refuse('already_exists', {
      param: 'name',
      message: 'There is a file of this name already.',
      details: { id: row.id, kind: row.kind },
    })
  ctx.answer.status = 200
  return showFile(row)
}

async function workspacesOf(ctx: Context, workspaceId: Id | undefined, parentId: string | undefined): Promise<Id[]> {
  if (parentId === undefined || parentId === 'root') return visibleWorkspaces(ctx, 'drive:read', workspaceId)
  const folder = await fileFor(ctx, parentId, 'drive:read', 'parent_id')
  if (folder.kind !== 'folder')
    refuse('invalid_parameter', { param: 'parent_id', message: 'This is a file, not a folder.' })
  return workspaceId === undefined || workspaceId === folder.workspace_id ? [folder.workspace_id] : []
}

function nameFor(given: string | undefined, sent: string | null): string {
  if (given !== undefined) return checkName(given)
  return sent === null ? refuse('missing_parameter', { param: 'name', message: '`name` is required.' }) : tamed(sent)
}

async function checkFree(ctx: Context, workspaceId: Id, parentId: Id | null, name: string): Promise<void> {
  if ((await fileStore.named(ctx.db, workspaceId, parentId, name)) !== undefined)
    await refuseTaken(ctx, workspaceId, parentId, name)
}

export function decoded(content: string, encoding: 'utf8' | 'base64', param = 'content'): Buffer {
  if (encoding === 'utf8') return Buffer.from(content.toWellFormed(), 'utf8')
  const bytes = Buffer.from(content, 'base64')
  if (bytes.toString('base64').replaceAll('=', '') !== content.replaceAll(/=|\s/g, ''))
    refuse('invalid_parameter', { param, message: `\`${param}\` is not base64.` })
  return bytes
}

async function* each(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* parts
}

export const driveSchedules = (engine: Engine): Schedule[] => [every('storage.add_up', 60, () => addUpStorage(engine))]
