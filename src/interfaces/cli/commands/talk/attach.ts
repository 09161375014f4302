import { access, readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { contracts } from '#modules/contracts.ts'
import { parseId } from '#core/ids.ts'
import type { SendCall } from '../../../client.ts'
import { Stop } from '../../exit.ts'
import type { Terminal } from '../../terminal.ts'

type Source =
  | { kind: 'url'; url: string }
  | { kind: 'file'; file_id: string }
  | { kind: 'base64'; media_type: string; data: string }

/** A message part of `POST /chats/:id/messages`. */
export type Part =
  | { type: 'text'; text: string }
  | { type: 'image'; source: Source }
  | { type: 'file'; source: Source; name?: string }

/** Decides the kind of part by extension. The server checks the bytes. */
const pictures: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
}
const documents: Readonly<Record<string, string>> = {
  '.pdf': 'application/pdf',
  '.html': 'text/html',
  '.json': 'application/json',
}

/** A message is limited to 1 MiB of JSON (contract, part 2), and base64 adds a third. Larger files go to the drive. */
const MAX_INLINE = 600_000

/**
 * Converts local paths, URLs and drive file IDs to message parts. Files too large for the message are uploaded to the
 * workspace's drive, with a note.
 */
export async function attached(
  words: readonly string[],
  { call, workspaceId, terminal }: { call: SendCall; workspaceId: () => Promise<string>; terminal: Terminal },
): Promise<Part[]> {
  let room = MAX_INLINE
  const parts: Part[] = []
  for (const word of words) {
    const type = pictures[extname(word).toLowerCase()]
    if (/^https?:\/\//.test(word)) parts.push({ type: type ? 'image' : 'file', source: { kind: 'url', url: word } })
    else if (parseId(word) !== null) parts.push({ type: 'file', source: { kind: 'file', file_id: word } })
    else {
      const path = word.replace(/^@/, '')
      const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
        const why = error.code === 'ENOENT' ? "it doesn't exist" : error.message
        throw new Stop('usage', `Can't attach ${path}: ${why}.`, 'Pass a local file, a URL, or the ID of a drive file.')
      })
      const name = basename(path)
      if (bytes.length > room) {
        const file_id = await keep(bytes, name, await workspaceId(), call)
        terminal.err(`Uploaded ${name} to the drive, since it's too large for a message.`)
        parts.push({ type: type ? 'image' : 'file', source: { kind: 'file', file_id } })
      } else {
        room -= bytes.length
        const media_type =
          type ?? documents[extname(path).toLowerCase()] ?? (isText(bytes) ? 'text/plain' : 'application/octet-stream')
        const source = { kind: 'base64', media_type, data: bytes.toString('base64') } as const
        parts.push(type ? { type: 'image', source } : { type: 'file', source, name })
      }
    }
  }
  return parts
}

export async function checkThere(word: string): Promise<void> {
  if (/^https?:\/\//.test(word) || parseId(word) !== null) return
  const path = word.replace(/^@/, '')
  await access(path).catch(() => {
    throw new Stop('usage', `Can't read ${path}: it doesn't exist, or you don't have permission.`)
  })
}

const isText = (bytes: Buffer): boolean => {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0')
  } catch {
    return false
  }
}

async function keep(bytes: Buffer, name: string, workspace_id: string, call: SendCall): Promise<string> {
  const { endpoints } = await contracts.drive()
  const answer = await call(
    endpoints.upload,
    { workspace_id, on_conflict: 'rename' },
    { file: { bytes: new Blob([new Uint8Array(bytes)]), name } },
  )
  return (JSON.parse(await answer.text()) as { data: { id: string } }).data.id
}
