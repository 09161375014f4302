import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { type DragEvent, useRef, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Rows, Section } from '../../ui/page.tsx'
import type { Computer } from '../queries.ts'
import { type Standing, standingFor } from '../words.ts'
import { FromDrive, ToDrive } from './drive-dialogs.tsx'
import { Editor } from './editor.tsx'
import { type FileAction, FileRow } from './file-row.tsx'
import { NewFolder, Rename } from './name-dialog.tsx'
import { trail, within } from './paths.ts'
import { type Row, folderQuery, refreshFolder, startQuery } from './queries.ts'
import { Tray } from './tray.tsx'
import { begin } from './uploads.ts'

export function Files({ computer }: { computer: Computer }) {
  const { path } = useSearch({ strict: false })
  const { data: start, error, refetch } = useQuery({ ...startQuery(computer.id), enabled: path === undefined })
  const shown = path ?? start
  if (shown !== undefined) return <Folder key={shown} computer={computer} path={shown} />
  return error ? <Failure what="The files" error={error} again={refetch} /> : <Waiting what="the files" />
}

interface ChosenRow {
  row: Row
  action: FileAction
}

function Folder({ computer, path }: { computer: Computer; path: string }) {
  const { id } = computer
  const writes = standingFor(computer, 'fs_write')
  const runs = standingFor(computer, 'exec')
  const chosen = useOpen<ChosenRow>()
  const [adding, setAdding] = useState<'folder' | 'drive' | null>(null)
  const upload = (files: FileList): void => {
    for (const file of files) begin(id, within(path, file.name), file)
  }
  const drop = (event: DragEvent): void => {
    if (!writes.ready || event.dataTransfer.files.length === 0) return
    event.preventDefault()
    upload(event.dataTransfer.files)
  }
  return (
    <div onDragOver={(event) => writes.ready && event.preventDefault()} onDrop={drop}>
      <Section
        title="Files"
        about={writes.ready ? 'Drop files here to upload.' : writes.why}
        action={writes.ready && <FolderButtons onAdd={setAdding} onFiles={upload} />}
      >
        <Trail id={id} path={path} />
        <Tray computerId={id} />
        <FileRows
          computerId={id}
          path={path}
          writes={writes}
          runs={runs}
          onAction={(row, action) => chosen.show({ row, action })}
        />
      </Section>
      <NewFolder
        computerId={id}
        folder={path}
        open={adding === 'folder'}
        onOpen={(open) => setAdding(open ? 'folder' : null)}
      />
      <FromDrive
        computerId={id}
        folder={path}
        open={adding === 'drive'}
        onOpen={(open) => setAdding(open ? 'drive' : null)}
      />
      {chosen.on && (
        <FileDialog
          key={`${chosen.on.action} ${chosen.on.row.path}`}
          computerId={id}
          path={path}
          chosen={chosen.on}
          writes={writes}
          open={chosen.open}
          onOpen={chosen.onOpen}
        />
      )}
    </div>
  )
}

function FolderButtons({
  onAdd,
  onFiles,
}: {
  onAdd: (what: 'folder' | 'drive') => void
  onFiles: (files: FileList) => void
}) {
  const picker = useRef<HTMLInputElement>(null)
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => onAdd('folder')}>Create folder</Button>
      <Button onClick={() => onAdd('drive')}>Copy from drive</Button>
      <Button look="primary" icon="up" onClick={() => picker.current?.click()}>
        Upload files
      </Button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ target }) => {
          if (target.files) onFiles(target.files)
          target.value = ''
        }}
      />
    </div>
  )
}

function FileRows({
  computerId,
  path,
  writes,
  runs,
  onAction,
}: {
  computerId: string
  path: string
  writes: Standing
  runs: Standing
  onAction: (row: Row, action: FileAction) => void
}) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    folderQuery(computerId, path),
  )
  const rows = data?.pages.flatMap((page) => page.rows)
  if (!rows) return error ? <Failure what="This folder" error={error} again={refetch} /> : <Waiting what="the files" />
  if (rows.length === 0)
    return <Empty title="This folder is empty">{writes.ready && 'Drop files here, or create a folder.'}</Empty>
  return (
    <>
      <Rows label="Files">
        {rows.map((row) => (
          <FileRow
            key={row.path}
            computerId={computerId}
            row={row}
            writes={writes}
            runs={runs}
            onAction={(action) => onAction(row, action)}
          />
        ))}
      </Rows>
      {hasNextPage && (
        <Button className="mt-3" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </>
  )
}

function FileDialog({
  computerId,
  path,
  chosen: { row, action },
  writes,
  open,
  onOpen,
}: {
  computerId: string
  path: string
  chosen: ChosenRow
  writes: Standing
  open: boolean
  onOpen: (open: boolean) => void
}) {
  const dialog = { computerId, row, open, onOpen }
  switch (action) {
    case 'edit':
      return <Editor {...dialog} writes={writes} />
    case 'rename':
      return <Rename {...dialog} />
    case 'to-drive':
      return <ToDrive {...dialog} />
    case 'remove':
      return (
        <Confirm
          open={open}
          onOpen={onOpen}
          title={`Delete “${row.name}”?`}
          verb="Delete permanently"
          run={async () => {
            await uk.computers.fs({ id: computerId, op: 'remove', path: row.path, recursive: row.type === 'folder' })
            await refreshFolder(computerId, path)
          }}
        >
          {row.type === 'folder' ? 'This deletes the folder with everything in it. ' : ''}
          Computers have no trash. You can’t undo this.
        </Confirm>
      )
  }
}

function Trail({ id, path }: { id: string; path: string }) {
  const parts = trail(path)
  return (
    <nav aria-label="Folder" className="mb-3">
      <ol className="flex flex-wrap items-center gap-x-1 font-mono text-sm">
        {parts.map((part, at) => (
          <li key={part.path} className="flex items-center gap-x-1">
            {at > 1 && (
              <span aria-hidden="true" className="text-quiet">
                /
              </span>
            )}
            <Link
              to="/computers/$id/$part"
              params={{ id, part: 'files' }}
              search={{ path: part.path }}
              aria-current={at === parts.length - 1 ? 'page' : undefined}
              className="rounded-xs px-1 py-1 break-all hover:bg-sunk"
            >
              {part.name}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}
