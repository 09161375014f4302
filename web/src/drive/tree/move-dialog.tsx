import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { plural } from '../../ui/text/format.ts'
import { move } from '../file-actions.ts'
import type { DriveFile, Place } from '../../shared/drive/files.ts'
import { FolderTree } from './folder-tree.tsx'

/** Moves files to a folder chosen from the tree: the keyboard alternative to dragging. */
export function MoveDialog({
  files,
  open,
  onOpen,
}: {
  files: readonly DriveFile[]
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const own = workspaces.filter(({ role }) => role !== 'viewer')
  const from = files[0]!
  const [picked, setPicked] = useState<{ place: Place; name: string } | null>(null)
  const current = picked?.place ?? { workspaceId: from.workspace_id, folderId: from.parent_id }
  const what = files.length === 1 ? `“${from.name}”` : plural(files.length, 'item')
  return (
    <Dialog
      open={open}
      onOpen={onOpen}
      title={`Move ${what}`}
      about="Choose a destination folder."
      footer={
        <>
          <Button onClick={() => onOpen(false)}>Cancel</Button>
          <Button
            look="primary"
            disabled={picked === null}
            onClick={() => {
              onOpen(false)
              void move(files, picked!.place, picked!.name)
            }}
          >
            {picked === null ? 'Move' : `Move to ${picked.name}`}
          </Button>
        </>
      }
    >
      <FolderTree
        label="Destination"
        workspaces={own}
        current={current}
        onPick={(place, name) => setPicked({ place, name })}
      />
    </Dialog>
  )
}
