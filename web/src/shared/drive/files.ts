import { queryClient, uk } from '../api.ts'

export type FilePlace = Awaited<ReturnType<typeof uk.drive.place>>
export type DriveFile = FilePlace['file']

export interface Place {
  workspaceId: string
  folderId: string | null
}

export const targetOf = ({ workspaceId, folderId }: Place): { parent_id: string } | { workspace_id: string } =>
  folderId === null ? { workspace_id: workspaceId } : { parent_id: folderId }

export const rowsKey = ({ workspaceId, folderId }: Place): string[] => ['drive', 'rows', folderId ?? workspaceId]

export const changeRows = (key: readonly string[], change: (rows: readonly DriveFile[]) => DriveFile[]): void =>
  void queryClient.setQueryData<DriveFile[]>([...key], (rows) => rows && change(rows))

export const rowsAround = ({ workspace_id, parent_id }: Pick<DriveFile, 'workspace_id' | 'parent_id'>): string[] =>
  rowsKey({ workspaceId: workspace_id, folderId: parent_id })

export function adopt(file: DriveFile): void {
  changeRows(rowsAround(file), (rows) =>
    rows.some(({ id }) => id === file.id) ? rows.map((row) => (row.id === file.id ? file : row)) : [file, ...rows],
  )
  queryClient.setQueryData<FilePlace>(['drive', 'place', file.id], (place) => place && { ...place, file })
}
