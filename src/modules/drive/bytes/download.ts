import { BlobMissing } from '#infra/blobs/blobs.ts'
import { readBlob } from '#infra/blobs/keep.ts'
import type { Engine } from '#infra/context.ts'
import type { Bytes } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { fileNameFields } from '#core/text/header-fields.ts'
import type { FileRow } from '../store.ts'
import { encodingOf } from './encoding.ts'

/** Types a browser may show inline, since they can't run code (contract, part 2). */
const inlineTypes =
  /^(image\/(png|jpeg|gif|webp|avif|bmp|tiff|x-icon|vnd\.microsoft\.icon|apng|heic|heif)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/pdf|text\/plain)$/

type FileContent = Pick<FileRow, 'name' | 'sha256' | 'size_bytes' | 'mime_type' | 'content_updated_at'>

/** A file's bytes, with headers that keep browsers from treating them as a page of this origin. */
export async function bytesOf(
  engine: Engine,
  row: FileContent,
  disposition: 'inline' | 'attachment' = 'inline',
): Promise<Bytes> {
  const { sha256, size_bytes, content_updated_at } = row
  if (sha256 === null)
    return refuse('invalid_state', {
      message: 'A folder has no content. Download its archive instead.',
      details: { status: 'active', allowed: ['archive'] },
    })
  return {
    headers: safeHeaders(row.mime_type!, row.name, disposition, await charsetFor(engine, row)),
    body: {
      size: Number(size_bytes),
      etag: `"${sha256}"`,
      modifiedAt: content_updated_at!,
      read: (range) => reading(readBlob(engine, sha256, { ...range, reuse: true })),
    },
  }
}

async function* reading(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* parts
  } catch (error) {
    if (error instanceof BlobMissing)
      refuse('unavailable', { message: 'The content of this file can’t be read right now. Try again later.' })
    throw error
  }
}

/** The detected text encoding. If the bytes can't be read now, the response has no charset. */
const charsetFor = async (engine: Engine, row: FileContent): Promise<string | null> =>
  row.mime_type!.startsWith('text/') ? encodingOf({ engine }, row).catch(() => null) : null

export function safeHeaders(
  mime: string,
  name: string,
  disposition: 'inline' | 'attachment',
  charset: string | null = null,
): Record<string, string> {
  const how = disposition === 'inline' && inlineTypes.test(mime) ? 'inline' : 'attachment'
  return {
    'content-type': charset === null ? mime : `${mime}; charset=${charset}`,
    'content-disposition': `${how}; ${fileNameFields(name)}`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-cache',
  }
}
