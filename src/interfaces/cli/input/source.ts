import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { parseId } from '#core/ids.ts'
import { Stop } from '../exit.ts'

/** Media types by extension. The server checks the bytes. */
const types: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
  '.mp4': 'video/mp4',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.ogg': 'audio/ogg',
  '.flac': 'audio/flac',
}

/** A URL, a drive file's ID, or a local path (also as @path), whose bytes are sent inline. */
export async function sourceOf(word: string, called: string): Promise<Record<string, string>> {
  if (/^https?:\/\//.test(word)) return { kind: 'url', url: word }
  if (parseId(word) !== null) return { kind: 'file', file_id: word }
  const path = word.replace(/^@/, '')
  const bytes = await readFile(path).catch((error: Error) => {
    throw new Stop(
      'usage',
      `${called}: can't read ${path}: ${error.message}.`,
      'Pass a local file, a URL, or the ID of a drive file.',
    )
  })
  const media_type = types[extname(path).toLowerCase()] ?? 'application/octet-stream'
  return { kind: 'base64', media_type, data: bytes.toString('base64') }
}
