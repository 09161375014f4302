import { queryOptions } from '@tanstack/react-query'
import { queryClient, uk } from '../../shared/api.ts'
import { pagedQuery } from '../../shared/paged-query.ts'

type Answer = Awaited<ReturnType<typeof uk.computers.fs>>
export type Row = Extract<Answer, { rows: unknown[] }>['rows'][number]

const ROWS = 200
/** The size limit for editing; larger files are downloaded. */
export const MAX_EDITED = 524_288

/** The start folder. Only the machine knows its home and its allowed folders. */
export const startQuery = (id: string) =>
  queryOptions({
    queryKey: ['computer-files-start', id],
    queryFn: async () => {
      const row = await uk.computers.fs({ id, op: 'stat' })
      if ('path' in row) return row.path
      throw new TypeError('a folder was answered with a list')
    },
  })

export const folderQuery = (id: string, path: string) =>
  pagedQuery(['computer-files', id, path], async (from) => {
    const listed = await uk.computers.fs({
      id,
      op: 'list',
      path,
      limit: ROWS,
      ...from,
    })
    if ('rows' in listed) return { rows: listed.rows, next: listed.next }
    throw new TypeError('a folder was answered with something else than a list')
  })

export const refreshFolder = (id: string, path: string): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: ['computer-files', id, path] })

export const downloadOf = (id: string, { path, type }: Row): string =>
  `/v1/computers/${id}/fs/download?${new URLSearchParams({ path, ...(type === 'folder' && { archive: 'zip' }) })}`

export interface Text {
  text: string
  etag: string | null
}

/** The text of a file. Null: it isn't text. */
export async function readText(id: string, path: string): Promise<Text | null> {
  const { body, header } = await uk.computers.download({ id, path })
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  const bytes = new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer())
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? null : { text, etag: header('etag') }
  } catch {
    return null
  }
}
