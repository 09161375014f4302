import { Link } from '@tanstack/react-router'
import { visible } from '../../ui/text/visible.ts'
import type { DriveFile } from '../../shared/drive/files.ts'

/** A file name as a link. Bidirectional controls, which could make `exe.txt` look like `txt.exe`, are made visible. */
export function FileName({ file: { id, kind, name }, tabIndex }: { file: DriveFile; tabIndex?: number }) {
  const words = visible(name)
  const more = {
    title: words,
    draggable: false,
    className: 'truncate hover:underline',
    ...(tabIndex !== undefined && { tabIndex }),
  }
  return kind === 'folder' ? (
    <Link to="/drive/f/$folder" params={{ folder: id }} {...more}>
      {words}
    </Link>
  ) : (
    <Link to="/drive/file/$id" params={{ id }} {...more}>
      {words}
    </Link>
  )
}
