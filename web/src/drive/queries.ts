import { queryOptions } from '@tanstack/react-query'
import { type DriveFile, type Place, rowsKey, targetOf } from '../shared/drive/files.ts'
import { everyRow, queryClient, uk } from '../shared/api.ts'

export type FileVersion = Awaited<ReturnType<typeof uk.drive.content_versions>>['rows'][number]
export type FileText = Awaited<ReturnType<typeof uk.drive.content>>
export type GrepRow = Awaited<ReturnType<typeof uk.drive.grep>>['rows'][number]
export type Share = Awaited<ReturnType<typeof uk.shares.list>>['rows'][number]

/** The display limit per folder. */
export const MAX_ROWS = 20_000

export const rowsQuery = (place: Place) =>
  queryOptions({
    queryKey: rowsKey(place),
    queryFn: async () => {
      const rows: DriveFile[] = []
      for (let before: string | null = null; ;) {
        const page: Awaited<ReturnType<typeof uk.drive.rows>> = await uk.drive.rows({
          ...targetOf(place),
          ...(before !== null && { before }),
        })
        rows.push(...page.files)
        before = page.next
        if (before === null || rows.length >= MAX_ROWS) return rows
      }
    },
    staleTime: 30_000,
  })

export const placeQuery = (id: string) =>
  queryOptions({ queryKey: ['drive', 'place', id], queryFn: () => uk.drive.place({ id }), staleTime: 30_000 })

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['drive', 'versions', id],
    queryFn: () => everyRow(uk.drive.content_versions({ id, limit: 100 }), 200),
  })

export const trashQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['drive', 'trash', workspaceId],
    queryFn: () => everyRow(uk.drive.list({ workspace_id: workspaceId, status: 'trashed', limit: 100 }), 2_000),
  })

export const sharesQuery = (type: 'file' | 'folder', id: string) =>
  queryOptions({
    queryKey: ['drive', 'shares', id],
    queryFn: () => everyRow(uk.shares.list({ resource_type: type, resource_id: id, limit: 100 }), 500),
  })

export const linesQuery = (file: DriveFile, limit: number) =>
  queryOptions({
    queryKey: ['drive', 'lines', file.id, file.content_version, limit],
    queryFn: () => uk.drive.content({ id: file.id, limit }),
  })

export const bytesAt = (id: string, more: { version?: number; disposition?: 'attachment' } = {}): string => {
  const query = new URLSearchParams(Object.entries(more).map(([name, value]) => [name, String(value)]))
  return `/v1/drive/files/${id}${query.size > 0 ? `?${query.toString()}` : ''}`
}

export const readAgain = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['drive'] })
