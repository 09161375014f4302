/** Files attached to something else, as snapshots that refer to their content. */
import { BlobMissing } from '#infra/blobs/blobs.ts'
import { lockBlobs, wholeBlob } from '#infra/blobs/keep.ts'
import type { Context, Engine } from '#infra/context.ts'
import { checkTarget } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { hasScope, membershipIn } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import { fileFor, lockTree } from '../tree/locate.ts'
import { checkRoom } from '../bytes/storage.ts'
import type { FileRow } from '../store.ts'
import { readText } from './read-text.ts'
import { insert } from '../tree/write.ts'

export interface Attachment {
  file_id: Id
  name: string
  media_type: string
  size_bytes: number
  sha256: string
}

/** More than any vendor accepts in one request. */
const MAX_BYTES = 20 << 20
/** Files copied along when an item moves to another workspace. */
const MAX_CARRIED = 500
const MAX_LINES = 10_000

/** Attaches a file the caller may read. One from another workspace is copied. */
export async function attach(ctx: Context, fileId: Id, workspaceId: Id, param: string): Promise<Attachment> {
  checkScope(ctx, 'drive:read')
  const row = await fileFor(ctx, fileId, 'drive:read', param)
  if (row.kind === 'folder') refuse('invalid_parameter', { param, message: 'This is a folder, not a file.' })
  if (row.trashed)
    refuse('invalid_state', {
      param,
      message: 'This file is in the trash. Restore it first.',
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
  if (Number(row.size_bytes) > MAX_BYTES)
    refuse('payload_too_large', {
      param,
      message: `The file has ${row.size_bytes} bytes, and message attachments can have up to ${MAX_BYTES} bytes.`,
      details: { limit_bytes: MAX_BYTES },
    })
  const attachment = attachmentOf(row)
  if (row.workspace_id === workspaceId) return attachment
  if (membershipIn(ctx.principal, workspaceId) === null)
    refuse('insufficient_role', {
      param,
      message:
        'The file is in another workspace, and you can’t write files to the chat’s workspace. Send its bytes instead.',
    })
  return (await carry(ctx, [attachment], workspaceId))[0]!
}

/**
 * Copies attachments for an item that moves to another workspace, in their order. Needs write access there; the
 * item's own check covers reading. One whose content was deleted stays unchanged.
 */
export async function carry(ctx: Context, attachments: readonly Attachment[], workspaceId: Id): Promise<Attachment[]> {
  checkScope(ctx, 'drive:write')
  checkTarget(ctx, workspaceId, 'drive:write')
  if (attachments.length > MAX_CARRIED)
    refuse('limit_reached', {
      message: `A message can have up to ${MAX_CARRIED} files, and this one has ${attachments.length}.`,
      details: { limit: MAX_CARRIED },
    })
  return ctx.transaction(async (ctx) => {
    await lockTree(ctx, [workspaceId], 'shared')
    const existing = await lockBlobs(ctx.db, [...new Set(attachments.map(({ sha256 }) => sha256))])
    const remaining = attachments.filter(({ sha256 }) => existing.has(sha256))
    await checkRoom(
      ctx,
      workspaceId,
      remaining.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
      'held',
    )
    const carried: Attachment[] = []
    for (const one of attachments) {
      const { name, media_type: mime_type, size_bytes, sha256 } = one
      const content = { sha256, mime_type, size_bytes: BigInt(size_bytes) }
      const target = { workspaceId, folder: null }
      carried.push(existing.has(sha256) ? attachmentOf(await insert(ctx, target, name, 'rename', content)) : one)
    }
    return carried
  })
}

export async function bytesAttached(engine: Engine, { sha256 }: Attachment): Promise<Buffer | null> {
  const [blob] = await engine.postgres.db
    .selectFrom('blobs')
    .select('sha256')
    .where('sha256', '=', sha256)
    .where('place', '<>', '')
    .execute()
  if (blob === undefined) return null
  return wholeBlob(engine, sha256).catch((error: unknown) => {
    if (error instanceof BlobMissing) return null
    throw error
  })
}

/** Returns the text of an attachment, extracted if it is a document. Rejects files without text. */
export async function textAttached(
  engine: Engine,
  { file_id, name, media_type, size_bytes, sha256 }: Attachment,
  signal: AbortSignal,
): Promise<string> {
  const file = { name, mime_type: media_type, size_bytes: BigInt(size_bytes), sha256 }
  const query = { kind: 'page', offset: 0, limit: MAX_LINES } as const
  const { db } = engine.postgres
  const owner = await db
    .selectFrom('resources')
    .select(({ fn }) => fn.coalesce('created_by', 'workspace_id').as('account'))
    .where('id', '=', file_id)
    .executeTakeFirst()
  const { lines } = await readText({ engine, db, signal, account: owner?.account ?? file_id }, file, query)
  return lines.map(({ text }) => text).join('\n')
}

function checkScope({ principal }: Context, scope: Scope): void {
  if (!hasScope(principal, scope))
    refuse('missing_scope', {
      message: `The key is missing the scope \`${scope}\`.`,
      details: { required_scope: scope },
    })
}

const attachmentOf = ({ id, name, mime_type, size_bytes, sha256 }: FileRow): Attachment => ({
  file_id: id,
  name,
  media_type: mime_type!,
  size_bytes: Number(size_bytes),
  sha256: sha256!,
})
