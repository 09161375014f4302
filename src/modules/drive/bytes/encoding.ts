import { readBlob } from '#infra/blobs/keep.ts'
import type { Engine } from '#infra/context.ts'
import { charsetOf, charsetWithin } from '#infra/text/charset/charset.ts'
import { kindOf } from '#infra/text/documents/document.ts'
import type { FileRow } from '../store.ts'

const HEAD_BYTES = 65_536

/**
 * Returns a text file's encoding, or null for binary files. Prefers the one found when the whole text was indexed
 * to that of the first bytes.
 */
export async function encodingOf(
  { engine }: { engine: Engine },
  { sha256, mime_type, name }: Pick<FileRow, 'sha256' | 'mime_type' | 'name'>,
): Promise<string | null> {
  const { rows } = await engine.postgres.pool.query<{ charset: string | null }>({
    name: 'charset_of',
    text: `select coalesce(charset, case when plain then 'utf-8' end) as charset from contents where sha256 = $1`,
    values: [sha256],
  })
  const charset = rows[0]?.charset ?? null
  if (charset !== null) return charset
  const head = await headOf(engine, sha256!)
  const kind = kindOf(mime_type, name)
  const within = kind === 'html' || /xml/.test(mime_type ?? '') ? charsetWithin(head) : undefined
  return charsetOf(head, { within, isCut: head.length === HEAD_BYTES })
}

async function headOf(engine: Engine, sha256: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const part of readBlob(engine, sha256, { end: HEAD_BYTES, reuse: true })) parts.push(Buffer.from(part))
  return Buffer.concat(parts)
}
