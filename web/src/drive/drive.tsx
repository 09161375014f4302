import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Workspace } from '../shared/api.ts'
import { refusal } from '../ui/calls/errors.ts'
import { workspacesQuery } from '../shared/session.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { FolderPage } from './folder-page.tsx'
import { Frame } from './frame.tsx'
import { GoneOrNotYours } from './gone.tsx'
import { placeQuery } from './queries.ts'
import { driveIn, lastWorkspace } from './where.ts'

/** The workspace to show: from the address, else the last one, else the personal one. */
export const meantWorkspace = (workspaces: readonly Workspace[], named: string | undefined): Workspace | undefined =>
  workspaces.find(({ id }) => id === (named ?? lastWorkspace.get())) ??
  (named === undefined ? (workspaces.find(({ kind }) => kind === 'personal') ?? workspaces[0]) : undefined)

const mayIn = ({ role, permissions, status }: Workspace): 'view' | 'all' =>
  role === 'viewer' || status === 'archived' || (permissions !== null && !permissions.includes('drive:write'))
    ? 'view'
    : 'all'

export function DrivePage() {
  const search = useSearch({ from: '/shell/drive' })
  const navigate = useNavigate()
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery)
  const workspace = workspaces && meantWorkspace(workspaces, search.workspace)
  useEffect(() => {
    if (workspace) lastWorkspace.set(workspace.id)
  }, [workspace])
  if (error && !workspaces) return <Failure what="Your workspaces" error={error} again={refetch} />
  if (!workspaces)
    return (
      <div className="p-6">
        <Waiting what="your drive" />
      </div>
    )
  if (!workspace) return <GoneOrNotYours what="This workspace" />
  const place = { workspaceId: workspace.id, folderId: null }
  return (
    <Frame current={place}>
      <FolderPage
        place={place}
        name={workspace.name}
        path={null}
        may={mayIn(workspace)}
        workspace={workspace}
        crumbs={[]}
        search={search}
        onSearch={(change) => void navigate({ to: '/drive', search: driveIn({ ...search, ...change }), replace: true })}
      />
    </Frame>
  )
}

export function FolderRoute() {
  const { folder } = useParams({ from: '/shell/drive/f/$folder' })
  const search = useSearch({ from: '/shell/drive/f/$folder' })
  const navigate = useNavigate()
  const { data: workspaces } = useQuery(workspacesQuery)
  const { data, error, refetch } = useQuery(placeQuery(folder))
  const workspace = workspaces?.find(({ id }) => id === data?.file.workspace_id)
  if (error && !data) {
    if (refusal(error)?.status === 404) return <GoneOrNotYours what="This folder" />
    return <Failure what="This folder" error={error} again={refetch} />
  }
  const place = { workspaceId: data?.file.workspace_id ?? '', folderId: folder }
  return (
    <Frame current={data ? place : null} open={data?.ancestors.map(({ id }) => id) ?? []}>
      <FolderPage
        place={place}
        name={data?.file.name ?? '…'}
        path={data?.file.path ?? null}
        may={data?.access ?? 'view'}
        workspace={workspace ?? null}
        folder={data?.file ?? null}
        crumbs={data?.ancestors ?? []}
        search={search}
        onSearch={(change) =>
          void navigate({
            to: '/drive/f/$folder',
            params: { folder },
            search: driveIn({ ...search, ...change }),
            replace: true,
          })
        }
      />
    </Frame>
  )
}
