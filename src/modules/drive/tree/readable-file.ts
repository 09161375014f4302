import { readBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { hasScope } from '#core/principal.ts'
import { fileFor } from './locate.ts'

export interface ReadableFile {
  name: string
  /** Hexadecimal. */
  sha256: string
  size: number
  /** Reads from this offset. A chunk is valid until the next is requested. */
  read(from: number): AsyncIterable<Uint8Array>
}

/** A file the caller may read, named in a request field. */
export async function readableFile(ctx: Context, id: Id, param: string): Promise<ReadableFile> {
  if (!hasScope(ctx.principal, 'drive:read'))
    refuse('missing_scope', {
      message: 'The key is missing the scope `drive:read`.',
      details: { required_scope: 'drive:read' },
    })
  const { name, sha256, size_bytes } = await fileFor(ctx, id, 'drive:read', param)
  if (sha256 === null) return refuse('invalid_parameter', { param, message: 'This is a folder, not a file.' })
  const size = Number(size_bytes)
  return { name, sha256, size, read: (from) => readBlob(ctx.engine, sha256, { start: from, end: size, reuse: true }) }
}
