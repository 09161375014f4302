import { uk } from '../shared/api.ts'
import { sayError } from '../ui/calls/errors.ts'
import { say } from '../ui/toast/toast.tsx'
import { plural } from '../ui/text/format.ts'
import { readAgain } from './queries.ts'
import { type DriveFile, type Place, adopt, changeRows, rowsAround } from '../shared/drive/files.ts'
import { withUndo } from './undo.ts'

const nameOf = (files: readonly DriveFile[]): string =>
  files.length === 1 ? `“${files[0]!.name}”` : plural(files.length, 'item')

/** Removes files from their folder optimistically, and puts them back if the server rejects it. */
async function withoutRows(
  files: readonly DriveFile[],
  work: (file: DriveFile) => Promise<unknown>,
): Promise<DriveFile[]> {
  const ids = new Set(files.map(({ id }) => id))
  for (const key of new Map(files.map((file) => [rowsAround(file).join(), rowsAround(file)])).values())
    changeRows(key, (rows) => rows.filter(({ id }) => !ids.has(id)))
  const moved: DriveFile[] = []
  for (const file of files) {
    try {
      await work(file)
      moved.push(file)
    } catch (error) {
      adopt(file)
      say(`${file.name}: ${sayError(error)}`)
    }
  }
  void readAgain()
  return moved
}

const restoreAll = async (files: readonly DriveFile[]): Promise<void> => {
  for (const { id } of files) adopt(await uk.drive.restore({ id }))
  void readAgain()
}

export async function trash(files: readonly DriveFile[]): Promise<void> {
  await withUndo(
    withoutRows(files, ({ id }) => uk.drive.trash({ id })),
    (moved) =>
      moved.length === 0
        ? null
        : {
            did: `Moved ${nameOf(moved)} to trash`,
            back: `${nameOf(moved)} restored`,
            undo: () => restoreAll(moved),
          },
  )
}

const moveTo = async (file: DriveFile, { folderId, workspaceId }: Place): Promise<void> =>
  adopt(
    await uk.drive.move({ id: file.id, parent_id: folderId, ...(folderId === null && { workspace_id: workspaceId }) }),
  )

export async function move(files: readonly DriveFile[], to: Place, name: string): Promise<void> {
  const others = files.filter(
    (file) => file.id !== to.folderId && !(file.parent_id === to.folderId && file.workspace_id === to.workspaceId),
  )
  if (others.length === 0) return
  await withUndo(
    withoutRows(others, (file) => moveTo(file, to)),
    (moved) =>
      moved.length === 0
        ? null
        : {
            did: `Moved ${nameOf(moved)} to ${name}`,
            back: `Moved ${nameOf(moved)} back`,
            async undo() {
              for (const file of moved) await moveTo(file, { workspaceId: file.workspace_id, folderId: file.parent_id })
              void readAgain()
            },
          },
  )
}

/** Throws the server's error, for the name field. */
export async function rename(file: DriveFile, name: string): Promise<void> {
  if (name === file.name) return
  const set = async (to: string): Promise<void> => {
    adopt(await uk.drive.update({ id: file.id, name: to }))
    void readAgain()
  }
  await withUndo(set(name), () => ({
    did: `Renamed to “${name}”`,
    back: `Renamed back to “${file.name}”`,
    undo: () => set(file.name),
  }))
}

export function download({ id, kind, name }: DriveFile): void {
  const link = document.createElement('a')
  link.href = kind === 'folder' ? `/v1/drive/files/${id}/archive` : `/v1/drive/files/${id}?disposition=attachment`
  link.download = kind === 'folder' ? `${name}.zip` : name
  link.click()
}
