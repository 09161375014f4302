import { Link, useNavigate } from '@tanstack/react-router'
import { visible } from '../ui/text/visible.ts'
import type { Workspace } from '../shared/api.ts'
import { useDrop } from './list/drag.ts'
import type { Place } from '../shared/drive/files.ts'

export interface Crumb {
  id: string
  name: string
}

const look = 'max-w-48 truncate rounded-xs px-1 hover:bg-sunk hover:text-ink'

/** The path from the workspace root to the current folder. Each step is a drop target. */
export function Breadcrumb({
  workspace,
  workspaces,
  workspaceId,
  crumbs,
}: {
  /** Null: a guest's path starts at the shared item. */
  workspace: Workspace | null
  workspaces: readonly Workspace[]
  workspaceId: string
  crumbs: readonly Crumb[]
}) {
  return (
    <nav aria-label="Breadcrumb" className="min-w-0">
      <ol className="-ml-1 flex flex-wrap items-center text-[0.8125rem] text-quiet">
        <li className="flex items-center">
          {workspace === null ? (
            <Link to="/shared-with-me" className={look}>
              Shared with me
            </Link>
          ) : (
            <Root workspace={workspace} workspaces={workspaces} />
          )}
        </li>
        {crumbs.map((crumb) => (
          <Step key={crumb.id} crumb={crumb} workspaceId={workspaceId} />
        ))}
      </ol>
    </nav>
  )
}

function Step({ crumb: { id, name }, workspaceId }: { crumb: Crumb; workspaceId: string }) {
  const { over, on } = useDrop({ workspaceId, folderId: id }, name)
  return (
    <li className="flex min-w-0 items-center">
      <span aria-hidden="true">/</span>
      <Link
        to="/drive/f/$folder"
        params={{ folder: id }}
        {...on}
        className={`${look} ${over ? 'bg-ai-wash outline-2 outline-ai' : ''}`}
      >
        {visible(name)}
      </Link>
    </li>
  )
}

function Root({ workspace, workspaces }: { workspace: Workspace; workspaces: readonly Workspace[] }) {
  const navigate = useNavigate()
  const place: Place = { workspaceId: workspace.id, folderId: null }
  const { over, on } = useDrop(place, workspace.name)
  return (
    <span {...on} className={`flex items-center ${over ? 'bg-ai-wash outline-2 outline-ai' : ''}`}>
      <Link to="/drive" search={{ workspace: workspace.id }} className={look}>
        {workspace.name}
      </Link>
      {workspaces.length > 1 && (
        <select
          aria-label="Workspace"
          className="w-5 cursor-pointer bg-transparent xl:hidden"
          value={workspace.id}
          onChange={({ target }) => void navigate({ to: '/drive', search: { workspace: target.value } })}
        >
          {workspaces.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </span>
  )
}
