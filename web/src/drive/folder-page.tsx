import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { visible } from '../ui/text/visible.ts'
import type { Workspace } from '../shared/api.ts'
import { workspacesQuery } from '../shared/session.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { useOpen } from '../ui/dialogs/dialog.tsx'
import { Actions } from '../ui/dialogs/menu.tsx'
import { Breadcrumb, type Crumb } from './breadcrumb.tsx'
import { download } from './file-actions.ts'
import { Found } from './find/found.tsx'
import { FolderView } from './folder-view.tsx'
import { sortIn, sortWords } from './list/sort.ts'
import { NewFolder } from './new-folder.tsx'
import type { DriveFile, Place } from '../shared/drive/files.ts'
import { SearchField } from './find/search-field.tsx'
import { ShareDialog } from './share/share-dialog.tsx'
import { UploadButton } from '../shared/drive/uploads/upload-button.tsx'
import type { DriveSearch } from './where.ts'

interface Props {
  place: Place
  name: string
  path: string | null
  may: 'view' | 'edit' | 'all'
  workspace: Workspace | null
  folder?: DriveFile | null
  crumbs: readonly Crumb[]
  search: DriveSearch
  onSearch: (change: { [K in keyof DriveSearch]: DriveSearch[K] | undefined }) => void
}

export function FolderPage({ place, name, path, may, workspace, folder = null, crumbs, search, onSearch }: Props) {
  const navigate = useNavigate()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const making = useOpen<Place>()
  const sharing = useOpen<DriveFile>()
  const title = visible(name)
  useEffect(() => {
    document.title = `${title} · Drive · Ukiyo`
  }, [title])
  const above = crumbs.at(-1)
  const up =
    folder === null
      ? null
      : () =>
          void (above
            ? navigate({ to: '/drive/f/$folder', params: { folder: above.id } })
            : workspace
              ? navigate({ to: '/drive', search: { workspace: workspace.id } })
              : navigate({ to: '/shared-with-me' }))
  const view = search.view ?? 'list'
  return (
    <>
      <header className="border-b border-line px-3 pt-3 pb-2.5 sm:px-4">
        <Breadcrumb workspace={workspace} workspaces={workspaces} workspaceId={place.workspaceId} crumbs={crumbs} />
        <div className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-2">
          <h1 className="min-w-0 flex-1 basis-40 truncate font-serif text-[1.625rem] leading-tight" title={title}>
            {folder === null ? 'Drive' : title}
          </h1>
          <SearchField search={search} onSearch={onSearch} />
          <IconButton
            label={view === 'list' ? 'Grid view' : 'List view'}
            icon={view === 'list' ? 'grid' : 'list'}
            onClick={() => onSearch({ view: view === 'list' ? 'grid' : undefined })}
          />
          {folder !== null && (
            <Actions
              label="More actions for this folder"
              actions={[
                { label: 'Download as ZIP', run: () => download(folder) },
                ...(may === 'all' ? [{ label: 'Share …', run: () => sharing.show(folder) }] : []),
                ...(workspace
                  ? [
                      {
                        label: 'Trash',
                        run: () => void navigate({ to: '/drive/trash', search: { workspace: workspace.id } }),
                      },
                    ]
                  : []),
              ]}
            />
          )}
          {folder === null && workspace !== null && (
            <IconButton
              label="Trash"
              icon="trash"
              className="xl:hidden"
              onClick={() => void navigate({ to: '/drive/trash', search: { workspace: workspace.id } })}
            />
          )}
          {may !== 'view' && (
            <>
              <Button icon="plus" onClick={() => making.show(place)}>
                Create folder
              </Button>
              <UploadButton place={place} name={name} folders />
            </>
          )}
        </div>
      </header>
      {search.q === undefined ? (
        <FolderView
          place={place}
          name={title}
          may={may}
          up={up}
          sort={sortIn(search.sort)}
          view={view}
          onSort={(sort) => onSearch({ sort: sortWords(sort) })}
        />
      ) : (
        <Found
          words={search.q}
          regex={search.regex === true}
          within={{ workspaceId: workspace?.id ?? null, of: place.workspaceId, path, name: title }}
        />
      )}
      {making.on && <NewFolder place={making.on} open={making.open} onOpen={making.onOpen} />}
      {sharing.on && <ShareDialog file={sharing.on} open={sharing.open} onOpen={sharing.onOpen} />}
    </>
  )
}
