import { useState } from 'react'
import { Icon, type IconName } from '../../ui/icons.tsx'
import type { DriveFile } from '../../shared/drive/files.ts'
import { hasThumbnail } from './kinds.ts'

export function Thumbnail({ file, icon, large = false }: { file: DriveFile; icon: IconName; large?: boolean }) {
  const [failed, setFailed] = useState<string | null>(null)
  const size = large ? 'size-full' : 'size-8'
  if (hasThumbnail(file) && failed !== file.sha256)
    return (
      <img
        src={`/v1/drive/files/${file.id}/thumbnail?size=${large ? 256 : 128}#${file.content_version}`}
        alt=""
        loading="lazy"
        draggable={false}
        onError={() => setFailed(file.sha256)}
        className={`${size} shrink-0 bg-sunk object-cover`}
      />
    )
  return (
    <span
      className={`${size} flex shrink-0 items-center justify-center ${file.kind === 'folder' ? 'text-ai' : 'text-quiet'}`}
    >
      <Icon name={icon} className={large ? 'size-10' : 'size-5'} />
    </span>
  )
}
