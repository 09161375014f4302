import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useState } from 'react'
import { refusal } from '../../ui/calls/errors.ts'
import { visible } from '../../ui/text/visible.ts'
import { workspacesQuery } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { useOpen } from '../../ui/dialogs/dialog.tsx'
import { Actions } from '../../ui/dialogs/menu.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { bytes } from '../../ui/text/format.ts'
import { Ago } from '../../ui/text/time.tsx'
import { Breadcrumb } from '../breadcrumb.tsx'
import { download, trash } from '../file-actions.ts'
import { Frame } from '../frame.tsx'
import { GoneOrNotYours } from '../gone.tsx'
import { kindWords } from '../list/kinds.ts'
import { RenameField } from '../list/rename-field.tsx'
import { modifiedOf } from '../list/sort.ts'
import { placeQuery } from '../queries.ts'
import type { DriveFile, FilePlace } from '../../shared/drive/files.ts'
import { ShareDialog } from '../share/share-dialog.tsx'
import { MoveDialog } from '../tree/move-dialog.tsx'
import { Preview } from './preview.tsx'

const Versions = lazy(() => import('../versions/versions.tsx').then(({ Versions }) => ({ default: Versions })))

export function FilePage() {
  const { id } = useParams({ from: '/shell/drive/file/$id' })
  const { data: workspaces = [], isPending } = useQuery(workspacesQuery)
  const { data, error, refetch } = useQuery(placeQuery(id))
  const workspace = workspaces.find((one) => one.id === data?.file.workspace_id)
  if (error && !data) {
    if (refusal(error)?.status === 404) return <GoneOrNotYours what="This file" />
    return <Failure what="This file" error={error} again={refetch} />
  }
  if (!data || isPending)
    return (
      <div className="p-6">
        <Waiting what="the file" />
      </div>
    )
  const { file, ancestors } = data
  const place = { workspaceId: file.workspace_id, folderId: file.parent_id }
  return (
    <Frame current={place} open={ancestors.map(({ id: of }) => of)}>
      <header className="border-b border-line px-3 pt-3 pb-2.5 sm:px-4">
        <Breadcrumb
          workspace={workspace ?? null}
          workspaces={workspaces}
          workspaceId={file.workspace_id}
          crumbs={ancestors}
        />
        <Head key={file.id} place={data} />
      </header>
      <Body key={`body ${file.id}`} place={data} />
    </Frame>
  )
}

function Head({ place: { file, access } }: { place: FilePlace }) {
  const navigate = useNavigate()
  const { panel } = useSearch({ from: '/shell/drive/file/$id' })
  const [renaming, setRenaming] = useState(false)
  const sharing = useOpen<DriveFile>()
  const moving = useOpen<readonly DriveFile[]>()
  const title = visible(file.name)
  useEffect(() => {
    document.title = `${title} · Drive · Ukiyo`
  }, [title])
  const goUp = (): void =>
    void (file.parent_id === null
      ? navigate({ to: '/drive', search: { workspace: file.workspace_id } })
      : navigate({ to: '/drive/f/$folder', params: { folder: file.parent_id } }))
  const isTrashed = file.status === 'trashed'
  const writes = access === 'all' && !isTrashed
  return (
    <div className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-2">
      <div className="min-w-0 flex-1 basis-64">
        {renaming ? (
          <>
            <h1 className="sr-only">{title}</h1>
            <RenameField file={file} onDone={() => setRenaming(false)} />
          </>
        ) : (
          <h1 className="truncate font-serif text-[1.375rem] leading-tight" title={title}>
            {title}
          </h1>
        )}
        <p className="figures truncate text-[0.8125rem] text-quiet">
          {kindWords(file)} · {bytes(file.size_bytes ?? 0)} · changed <Ago time={modifiedOf(file)} />
          {isTrashed && ' · in the trash'}
        </p>
      </div>
      <Button
        aria-pressed={panel === 'versions'}
        onClick={() =>
          void navigate({
            to: '/drive/file/$id',
            params: { id: file.id },
            search: panel === 'versions' ? {} : { panel: 'versions' },
            replace: true,
          })
        }
      >
        Versions
      </Button>
      {writes && (
        <Button icon="share" onClick={() => sharing.show(file)}>
          Share
        </Button>
      )}
      <Button look="primary" icon="down" onClick={() => download(file)}>
        Download
      </Button>
      {access !== 'view' && !isTrashed && (
        <Actions
          label={`More actions for ${title}`}
          actions={[
            { label: 'Rename', run: () => setRenaming(true) },
            ...(writes ? [{ label: 'Move …', run: () => moving.show([file]) }] : []),
            ...(writes
              ? [
                  {
                    label: 'Move to trash',
                    danger: true,
                    run: () => {
                      void trash([file])
                      goUp()
                    },
                  },
                ]
              : []),
          ]}
        />
      )}
      {sharing.on && <ShareDialog file={sharing.on} open={sharing.open} onOpen={sharing.onOpen} />}
      {moving.on && <MoveDialog files={moving.on} open={moving.open} onOpen={moving.onOpen} />}
    </div>
  )
}

function Body({ place }: { place: FilePlace }) {
  const { panel, version } = useSearch({ from: '/shell/drive/file/$id' })
  return (
    <div className="flex min-h-0 flex-1 flex-col md:flex-row">
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <Preview place={place} />
      </div>
      {panel === 'versions' && (
        <Suspense>
          <Versions place={place} compared={version ?? null} />
        </Suspense>
      )}
    </div>
  )
}
