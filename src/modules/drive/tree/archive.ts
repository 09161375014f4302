import { Readable } from 'node:stream'
import { readBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import type { Bytes } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { safeHeaders } from '../bytes/download.ts'
import { portablePaths } from '#core/files/portable-names.ts'
import { type FileRow, fileStore } from '../store.ts'

const MOST_ENTRIES = 100_000
/** Types that are packed already, and get no smaller. */
const packed = /^(image\/(?!svg|bmp|tiff)|audio\/|video\/)|zip|gzip|compressed|x-7z|rar|pdf|openxmlformats|opendocument/

/** A folder as a ZIP, written while it is read: nothing of it is held. A file changed meanwhile comes as it was. */
export async function archiveOf(ctx: Context, row: FileRow): Promise<Bytes> {
  const rows = await fileStore.below(ctx.db, row, MOST_ENTRIES)
  if (rows.length === MOST_ENTRIES)
    refuse('limit_reached', {
      message: `An archive can have up to ${MOST_ENTRIES - 1} entries.`,
      details: { limit: MOST_ENTRIES - 1 },
    })
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  let reading: Readable | null = null
  const pathFor = portablePaths(row.name)
  const out = zip.outputStream as Readable
  out.once('close', () => reading?.destroy())
  // Folders first, so that no file takes the name of one.
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
      // A blob that cannot be read breaks the archive off, so that nobody takes a part for the whole.
      reading.once('error', (error) => out.destroy(error))
      give(null, reading)
    })
  }
}
