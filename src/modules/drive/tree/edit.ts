import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { iso } from '#core/time.ts'
import { lockTree } from './locate.ts'
import { mimeTypeOf } from '../bytes/mime.ts'
import { type FileRow } from '../store.ts'
import { lockFile, rename } from './move.ts'
import { setContent, staging } from './write.ts'

export interface Edit {
  name: string | null
  content: Buffer | null
  /** The state the caller saw, or null to overwrite. */
  expected: Date | null
}

/** Changes a file's name and content if it is still what the caller saw. Concurrent edits are serialized. */
export async function edit(ctx: Context, before: FileRow, change: Edit): Promise<FileRow> {
  const { name, content } = change
  if (content !== null && before.kind === 'folder')
    refuse('invalid_parameter', { param: 'content', message: 'Folders have no content.' })
  checkFresh(before, change)
  if (name === null && content === null) return before
  if (content === null) return ctx.transaction((ctx) => write(ctx, before, change))
  return staging(ctx, each(content), async (staged) => {
    const mime = await mimeTypeOf(staged.head, name ?? before.name, before.mime_type)
    return ctx.transaction(async (ctx) => setContent(ctx, await write(ctx, before, change), staged, mime))
  })
}

async function write(ctx: Context, before: FileRow, change: Edit): Promise<FileRow> {
  const { name } = change
  if (name !== null) await lockTree(ctx, [before.workspace_id], before.kind === 'folder' ? 'alone' : 'shared')
  const row = await lockFile(ctx, before.id)
  checkFresh(row, change)
  return name === null ? row : rename(ctx, row, name)
}

/**
 * A change of content alone is compared with the content's timestamp, so renaming a file doesn't conflict with
 * edits.
 */
export function checkFresh(row: FileRow, { name, content, expected }: Edit): void {
  const field = name === null && content !== null ? 'content_updated_at' : 'updated_at'
  const present = row[field]
  if (expected === null || present === null || present.getTime() === expected.getTime()) return
  refuse('stale_update', {
    param: 'expected_updated_at',
    message: `The file was changed in the meantime: \`${field}\` is now ${iso(present)}. Read it again, then retry.`,
    details: {
      updated_at: iso(row.updated_at),
      content_updated_at: row.content_updated_at && iso(row.content_updated_at),
      content_version: row.content_version,
      sha256: row.sha256,
      name: row.name,
    },
  })
}

async function* each(content: Buffer): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content
}
