import type { IconName } from '../../ui/icons.tsx'
import type { DriveFile } from '../../shared/drive/files.ts'

/** The kinds of files, which decide how a file is shown. */
export type ViewKind =
  | 'folder'
  | 'picture'
  | 'drawing'
  | 'pdf'
  | 'sound'
  | 'video'
  | 'markdown'
  | 'text'
  | 'office'
  | 'other'

const officeTypes =
  /^application\/(msword|rtf|epub\+zip|vnd\.(ms-(excel|powerpoint)|openxmlformats-officedocument\..+|oasis\.opendocument\..+))$/
const textTypes = /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|sql|x-ndjson|javascript)\b/

export function shownAs({ kind, mime_type }: Pick<DriveFile, 'kind' | 'mime_type'>): ViewKind {
  const type = mime_type ?? ''
  if (kind === 'folder') return 'folder'
  if (type === 'image/svg+xml') return 'drawing'
  if (/^image\/(png|jpeg|gif|webp|avif|bmp|apng|x-icon|vnd\.microsoft\.icon)$/.test(type)) return 'picture'
  if (type === 'application/pdf') return 'pdf'
  if (type.startsWith('audio/')) return 'sound'
  if (type.startsWith('video/')) return 'video'
  if (type === 'text/markdown') return 'markdown'
  if (officeTypes.test(type)) return 'office'
  return textTypes.test(type) ? 'text' : 'other'
}

const about: Record<ViewKind, { icon: IconName; words: string }> = {
  folder: { icon: 'folder', words: 'Folder' },
  picture: { icon: 'picture', words: 'Image' },
  drawing: { icon: 'picture', words: 'Drawing' },
  pdf: { icon: 'book', words: 'PDF' },
  sound: { icon: 'play', words: 'Audio' },
  video: { icon: 'play', words: 'Video' },
  markdown: { icon: 'file', words: 'Markdown' },
  text: { icon: 'file', words: 'Text' },
  office: { icon: 'file', words: 'Document' },
  other: { icon: 'file', words: 'File' },
}
export const iconOf = (file: DriveFile): IconName => about[shownAs(file)].icon

/** Describes a file by its extension: `PNG image`, `Folder`. */
export function kindWords(file: DriveFile): string {
  const { words } = about[shownAs(file)]
  const ending = /\.([a-z0-9]{1,5})$/i.exec(file.name)?.[1]?.toUpperCase()
  if (file.kind === 'folder' || ending === undefined || ending === words.toUpperCase() || words === 'Markdown')
    return words
  return `${ending} ${words.toLowerCase()}`
}

/** Whether the server makes thumbnails of the file. */
export const hasThumbnail = ({ mime_type }: DriveFile): boolean =>
  /^image\/(png|jpeg|gif|webp|avif|tiff|heic|heif)$/.test(mime_type ?? '')
