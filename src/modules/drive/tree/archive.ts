import { Readable } from 'node:stream'
import { readBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import type { Bytes } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { safeHeaders } from '../bytes/download.ts'
import { portablePaths } from '#core/files/portable-names.ts'
import { type FileRow, fileStore } from '../store.ts'

const MAX_ENTRIES = 100_000
/** Already compressed types, stored without compression. */
const packed = /^(image\/(?!svg|bmp|tiff)|audio\/|video\/)|zip|gzip|compressed|x-7z|rar|pdf|openxmlformats|opendocument/

/** Streams a folder as a ZIP without buffering it. A file that changes meanwhile is sent in its earlier version. */
export async function archiveOf(ctx: Context, row: FileRow): Promise<Bytes> {
  const rows = await fileStore.below(ctx.db, row, MAX_ENTRIES)
  if (rows.length === MAX_ENTRIES)
    refuse('limit_reached', {
      message: `An archive can have up to ${MAX_ENTRIES - 1} entries.`,
      details: { limit: MAX_ENTRIES - 1 },
    })
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  let reading: Readable | null = null
  const pathFor = portablePaths(row.name)
  const out = zip.outputStream as Readable
  out.once('close', () => reading?.destroy())
  // Folders first, so no file takes a folder's name.
  const { folder: folders = [], file: files = [] } = Object.groupBy(rows, ({ kind }) => kind)
  for (const one of row.kind === 'file' ? [row] : [...folders, ...files]) add(one)
  zip.end()
  return { headers: safeHeaders('application/zip', `${row.name}.zip`, 'attachment'), body: out }

  function add(one: FileRow): void {
    const path = pathFor(one.path.slice(row.path.length - row.name.length), one.kind)
    const mtime = one.content_updated_at ?? one.updated_at
    if (one.sha256 === null) return zip.addEmptyDirectory(path, { mtime })
    const { sha256 } = one
    zip.addReadStreamLazy(path, { mtime, compress: !packed.test(one.mime_type ?? '') }, (give) => {
      reading = Readable.from(readBlob(ctx.engine, sha256), { objectMode: false })
      // An unreadable blob breaks the archive off, so a partial one doesn't look complete.
      reading.once('error', (error) => out.destroy(error))
      give(null, reading)
    })
  }
}
