import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { type DragEvent, useRef, useState } from 'react'
import { uk } from '../../shared/api.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, useOpen } from '../../ui/dialogs/dialog.tsx'
import { Empty, Failure, Waiting } from '../../ui/notice.tsx'
import { Rows, Section } from '../../ui/page.tsx'
import type { Computer } from '../queries.ts'
import { standingFor } from '../words.ts'
import { FromDrive, ToDrive } from './drive-dialogs.tsx'
import { Editor } from './editor.tsx'
import { FileRow } from './file-row.tsx'
import { NewFolder, Rename } from './name-dialog.tsx'
import { trail, within } from './paths.ts'
import { type Row, folderQuery, refreshFolder, startQuery } from './queries.ts'
import { Tray } from './tray.tsx'
import { begin } from './uploads.ts'

/** A file browser, starting in the home folder or the first allowed folder. */
export function Files({ computer }: { computer: Computer }) {
  const { path } = useSearch({ strict: false })
  const { data: start, error, refetch } = useQuery({ ...startQuery(computer.id), enabled: path === undefined })
  const shown = path ?? start
  if (shown !== undefined) return <Folder key={shown} computer={computer} path={shown} />
  return error ? <Failure what="The files" error={error} again={refetch} /> : <Waiting what="the files" />
}

type Deed = 'edit' | 'rename' | 'remove' | 'to-drive'

function Folder({ computer, path }: { computer: Computer; path: string }) {
  const { id } = computer
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    folderQuery(id, path),
  )
  const rows = data?.pages.flatMap((page) => page.rows)
  const writes = standingFor(computer, 'fs_write')
  const runs = standingFor(computer, 'exec')
  const picker = useRef<HTMLInputElement>(null)
  const deed = useOpen<{ row: Row; deed: Deed }>()
  const [making, setMaking] = useState<'folder' | 'drive' | null>(null)
  const take = (files: FileList | null): void => {
    for (const file of files ?? []) begin(id, within(path, file.name), file)
  }
  const drop = (event: DragEvent): void => {
    if (!writes.ready || event.dataTransfer.files.length === 0) return
    event.preventDefault()
    take(event.dataTransfer.files)
  }
  const actions = writes.ready && (
    <div className="flex flex-wrap gap-2">
      <Button onClick={() => setMaking('folder')}>Create folder</Button>
      <Button onClick={() => setMaking('drive')}>Copy from drive</Button>
      <Button look="primary" icon="up" onClick={() => picker.current?.click()}>
        Upload
      </Button>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={(event) => {
          take(event.target.files)
          event.target.value = ''
        }}
      />
    </div>
  )
  const on = deed.on
  const dialog = { computerId: id, open: deed.open, onOpen: deed.onOpen }
  return (
    <div onDragOver={(event) => writes.ready && event.preventDefault()} onDrop={drop}>
      <Section title="Files" about={writes.ready ? 'Drop files here to upload.' : writes.why} action={actions}>
        <Trail id={id} path={path} />
        <Tray computerId={id} />
        {error && !rows ? (
          <Failure what="This folder" error={error} again={refetch} />
        ) : !rows ? (
          <Waiting what="the files" />
        ) : rows.length === 0 ? (
          <Empty title="This folder is empty">{writes.ready && 'Drop files here, or create a folder.'}</Empty>
        ) : (
          <Rows label="Files">
            {rows.map((row) => (
              <FileRow
                key={row.path}
                computerId={id}
                row={row}
                writes={writes}
                runs={runs}
                onDeed={(which) => deed.show({ row, deed: which })}
              />
            ))}
          </Rows>
        )}
        {hasNextPage && (
          <Button className="mt-3" pending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show more
          </Button>
        )}
      </Section>
      <NewFolder
        computerId={id}
        folder={path}
        open={making === 'folder'}
        onOpen={(open) => setMaking(open ? 'folder' : null)}
      />
      <FromDrive
        computerId={id}
        folder={path}
        open={making === 'drive'}
        onOpen={(open) => setMaking(open ? 'drive' : null)}
      />
      {on?.deed === 'edit' && <Editor key={on.row.path} row={on.row} writes={writes} {...dialog} />}
      {on?.deed === 'rename' && <Rename key={on.row.path} row={on.row} {...dialog} />}
      {on?.deed === 'to-drive' && <ToDrive key={on.row.path} row={on.row} {...dialog} />}
      {on?.deed === 'remove' && (
        <Confirm
          open={deed.open}
          onOpen={deed.onOpen}
          title={`Delete “${on.row.name}”?`}
          verb="Delete permanently"
          run={async () => {
            await uk.computers.fs({ id, op: 'remove', path: on.row.path, recursive: on.row.type === 'folder' })
            await refreshFolder(id, path)
          }}
        >
          {on.row.type === 'folder' ? 'This deletes the folder with everything in it. ' : ''}
          Computers have no trash. You can’t undo this.
        </Confirm>
      )}
    </div>
  )
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
