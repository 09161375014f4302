import { queryOptions } from '@tanstack/react-query'
import { uk } from '../../api.ts'
import type { DriveFile } from '../queries.ts'

/** Larger texts are read by lines, and not changed here. */
export const MOST_EDITED_BYTES = 2e6

/** The whole text of a file or of a version of it; null where it is not UTF-8, which saving would change. */
export const textQuery = ({ id, sha256 }: Pick<DriveFile, 'id' | 'sha256'>, version?: number) =>
  queryOptions({
    queryKey: ['drive text', id, sha256],
    queryFn: async () => ({ text: await textOf(id, version) }),
    staleTime: Infinity,
  })

async function textOf(id: string, version: number | undefined): Promise<string | null> {
  const { body } = await uk.drive.download({ id, ...(version !== undefined && { version }) })
  // A byte order mark is kept: it is part of the file.
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
