import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { parseId } from '#core/ids.ts'
import { Stop } from '../exit.ts'

/** The server judges by the bytes; this is what the ending says. */
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

/** An address, the id of a file of the drive, or the path of a file of this machine (also as @path), whose bytes go along. */
export async function sourceOf(word: string, called: string): Promise<Record<string, string>> {
  if (/^https?:\/\//.test(word)) return { kind: 'url', url: word }
  if (parseId(word) !== null) return { kind: 'file', file_id: word }
  const path = word.replace(/^@/, '')
  const bytes = await readFile(path).catch((error: Error) => {
    throw new Stop(
      'usage',
      `${called}: ${path} cannot be read: ${error.message}.`,
      'A file, an address, or the id of a file of the drive.',
    )
  })
  const media_type = types[extname(path).toLowerCase()] ?? 'application/octet-stream'
  return { kind: 'base64', media_type, data: bytes.toString('base64') }
}
