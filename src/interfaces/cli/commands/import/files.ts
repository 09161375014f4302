/** Files of an export, and their upload to the drive. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { contracts } from '#modules/contracts.ts'
import type { Caller } from '../../server/caller.ts'
import { upload } from '../../server/upload.ts'
import type { Terminal } from '../../terminal.ts'
import type { GivenFile } from './formats/conversation.ts'

/** Files by their IDs in the export: ZIP entries or a folder of uploads. */
export interface ExportFiles {
  /** Looks up a file: its unique name in the export, and its size. */
  find(ref: string): { name: string; size: number } | null
  read(ref: string): Promise<AsyncIterable<Uint8Array>>
}

export const noFiles: ExportFiles = {
  find: () => null,
  read: async () => Readable.from([]),
}

const DATA = /^data:([a-z0-9.+/-]+)?(?:;[^,;]*)*;base64,/i
const extensions: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'application/pdf': '.pdf',
  'text/plain': '.txt',
}

/** The export's files, and files embedded in a chat as base64 `data:` URLs (RFC 2397). */
export function withData(files: ExportFiles): ExportFiles {
  const bytesOf = (ref: string): Buffer => Buffer.from(ref.slice(DATA.exec(ref)![0].length), 'base64')
  return {
    find(ref) {
      const data = DATA.exec(ref)
      if (data === null) return files.find(ref)
      const bytes = bytesOf(ref)
      const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
      return { name: `${hash}${extensions[data[1]?.toLowerCase() ?? ''] ?? ''}`, size: bytes.length }
    },
    read: async (ref) => (DATA.test(ref) ? Readable.from([bytesOf(ref)]) : files.read(ref)),
  }
}

/** Uploads files to one drive folder. The same file gets the same name, so importing again doesn't duplicate it. */
export async function bringFiles(
  given: readonly GivenFile[],
  files: ExportFiles,
  folderId: string,
  caller: Caller,
  terminal: Terminal,
): Promise<Map<string, string>> {
  const dir = await mkdtemp(join(tmpdir(), 'uk-import-'))
  const ids = new Map<string, string>()
  try {
    for (const { ref, name } of given) {
      if (ids.has(ref)) continue
      const path = join(dir, `file${extname(name).replaceAll(/[^.\w]/g, '')}`)
      await pipeline(Readable.from(await files.read(ref)), createWriteStream(path))
      const place = { parent_id: folderId, name, on_conflict: 'version' }
      const answer = await upload(path, place, caller, terminal)
      ids.set(ref, (JSON.parse(await answer.text()) as { data: { id: string } }).data.id)
      await rm(path)
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
  return ids
}

/** The folder for imported files, at the workspace's root, created on first use. */
export async function folderFor(source: string, workspaceId: string, { call }: Caller): Promise<string> {
  const { create_folder } = (await contracts.drive()).endpoints
  const answer = await call(create_folder, { workspace_id: workspaceId, name: `Imported from ${source}` })
  return (JSON.parse(await answer.text()) as { data: { id: string } }).data.id
}
