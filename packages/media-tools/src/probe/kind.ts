import { stat } from 'node:fs/promises'
import { fileTypeFromFile } from 'file-type'
import { UnreadableMedia } from './unreadable.ts'

export interface Beginning {
  kind: 'image' | 'recording'
  type: string
  extension: string
  sizeBytes: number
}

/** Only raster formats: an SVG is a document with active content. */
const PICTURES = new Set(['png', 'jpg', 'gif', 'webp', 'avif', 'tif', 'heic', 'heif'])
/** Audio and video containers. No playlists, which reference other files. */
const RECORDINGS = new Set(
  ['mp4', 'm4v', 'm4a', 'm4b', 'mov', '3gp', '3g2', 'mkv', 'mka', 'webm', 'mp3', 'wav', 'flac', 'aac', 'mts'].concat([
    'ogg',
    'oga',
    'ogv',
    'opus',
    'spx',
  ]),
)

export async function readBeginning(path: string): Promise<Beginning> {
  const { size } = await stat(path)
  if (size === 0) throw new UnreadableMedia('empty', 'It’s empty.')
  const fileType = await fileTypeFromFile(path)
  if (fileType === undefined) throw new UnreadableMedia('other_kind', await describeFile(path))
  const type = fileType.mime.split(';')[0]!
  if (type.startsWith('image/apng')) return { kind: 'image', type: 'image/png', extension: 'png', sizeBytes: size }
  const kind = PICTURES.has(fileType.ext) ? 'image' : RECORDINGS.has(fileType.ext) ? 'recording' : null
  if (kind === null)
    throw new UnreadableMedia('other_kind', `It’s ${type}, which isn’t a supported image, video or audio format.`)
  return { kind, type, extension: fileType.ext, sizeBytes: size }
}

async function describeFile(path: string): Promise<string> {
  const { open } = await import('node:fs/promises')
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0)
  const head = buffer.subarray(0, bytesRead).toString('latin1').trimStart()
  const what = /^<(?:!doctype html|html|head|body)/i.test(head)
    ? 'a web page'
    : /^[{[]/.test(head)
      ? 'JSON'
      : /^[\t\n\r\x20-\x7e]+$/.test(head)
        ? 'text'
        : 'of an unknown type'
  return `It’s ${what}, not an image, video or audio file.`
}
