import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { workspacesQuery } from '../shared/session.ts'
import { Icon } from '../ui/icons.tsx'
import type { Place } from '../shared/drive/files.ts'
import { FolderTree } from './tree/folder-tree.tsx'

export function Frame({
  current,
  open = [],
  children,
}: {
  current: Place | null
  open?: readonly string[]
  children: ReactNode
}) {
  const navigate = useNavigate()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const link =
    'flex items-center gap-2 px-3 py-1.5 text-sm text-quiet hover:bg-sunk hover:text-ink data-[status=active]:text-ink'
  return (
    <div className="flex h-full">
      <aside
        aria-label="Folders"
        className="hidden w-56 shrink-0 flex-col overflow-y-auto border-r border-line py-4 xl:flex"
      >
        <FolderTree
          label="Folders"
          workspaces={workspaces}
          current={current}
          open={open}
          takesDrops
          onPick={({ workspaceId, folderId }) =>
            void (folderId === null
              ? navigate({ to: '/drive', search: { workspace: workspaceId } })
              : navigate({ to: '/drive/f/$folder', params: { folder: folderId } }))
          }
        />
        <div className="mt-3 border-t border-line pt-3">
          <Link to="/shared-with-me" className={link}>
            <Icon name="person" /> Shared with me
          </Link>
          <Link to="/drive/trash" search={current ? { workspace: current.workspaceId } : {}} className={link}>
            <Icon name="trash" /> Trash
          </Link>
        </div>
      </aside>
      <div className="flex min-w-0 flex-1 flex-col">{children}</div>
    </div>
  )
}
