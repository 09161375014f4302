import { queryOptions } from '@tanstack/react-query'
import { uk } from '../../shared/api.ts'
import type { DriveFile } from '../../shared/drive/files.ts'

/** Larger texts are read line by line and can't be edited here. */
export const MAX_EDITED_BYTES = 2e6

/** The complete text of a file or version; null if it isn't UTF-8, since saving would change it. */
export const textQuery = ({ id, sha256 }: Pick<DriveFile, 'id' | 'sha256'>, version?: number) =>
  queryOptions({
    queryKey: ['drive text', id, sha256],
    queryFn: async () => ({ text: await textOf(id, version) }),
    staleTime: Infinity,
  })

async function textOf(id: string, version: number | undefined): Promise<string | null> {
  const { body } = await uk.drive.download({ id, ...(version !== undefined && { version }) })
  // Keeps a byte order mark, which is part of the file.
  const reader = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    let text = ''
    for await (const part of body) text += reader.decode(part, { stream: true })
    return text + reader.decode()
  } catch (error) {
    if (error instanceof TypeError && !navigator.onLine) throw error
    if (error instanceof TypeError && /decod|encoded/i.test(error.message)) return null
    throw error
  }
}
