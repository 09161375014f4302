import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Action } from '../ui/dialogs/menu.tsx'
import { useOpen } from '../ui/dialogs/dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { download, trash } from './file-actions.ts'
import { useDrop } from './list/drag.ts'
import { FileList } from './list/file-list.tsx'
import type { ListCommand } from './list/list-keys.ts'
import type { RowActions } from './list/row.tsx'
import { click, without } from './list/selection.ts'
import { type Sort, sorted } from './list/sort.ts'
import { Nothing } from './nothing.tsx'
import { rowsQuery } from './queries.ts'
import type { DriveFile, Place } from '../shared/drive/files.ts'
import { SelectionBar } from './selection-bar.tsx'
import { ShareDialog } from './share/share-dialog.tsx'
import { MoveDialog } from './tree/move-dialog.tsx'
import { takeBack } from './undo.ts'
import { useSelection } from './use-selection.ts'

interface Props {
  place: Place
  name: string
  may: 'view' | 'edit' | 'all'
  up: (() => void) | null
  sort: Sort
  view: 'list' | 'grid'
  onSort: (sort: Sort) => void
}

export function FolderView({ place, name, may, up, sort, view, onSort }: Props) {
  const { data, error, refetch, isPlaceholderData } = useQuery({
    ...rowsQuery(place),
    placeholderData: keepPreviousData,
    // Guests receive no change events.
    ...(may !== 'all' && { refetchInterval: 15_000 }),
  })
  const navigate = useNavigate()
  const files = useMemo(() => sorted(data ?? [], sort), [data, sort.by, sort.down])
  const { selection, setSelection, chosen, latest, change } = useSelection(place, files)
  const [renaming, setRenaming] = useState<string | null>(null)
  const sharing = useOpen<DriveFile>()
  const moving = useOpen<readonly DriveFile[]>()
  const drop = useDrop(may === 'view' ? null : place, name, 'files')

  const open = useCallback(
    ({ id, kind }: DriveFile) =>
      void (kind === 'folder'
        ? navigate({ to: '/drive/f/$folder', params: { folder: id } })
        : navigate({ to: '/drive/file/$id', params: { id } })),
    [navigate],
  )
  const actionsOn = (some: readonly DriveFile[]): Action[] =>
    actionsFor(some, may, { open, share: sharing.show, rename: setRenaming, move: moving.show })
  const actions: RowActions = useMemo(
    () => ({
      may,
      click: (file, how) => setSelection(click(latest.current.selection, latest.current.ids, file.id, how)),
      along(file) {
        const { selection: of, ids, chosen: some } = latest.current
        if (of.selected.has(file.id)) return some
        setSelection(click(of, ids, file.id, 'alone'))
        return [file]
      },
      menuOf: (file) => actionsOn([file]),
      renamed: () => setRenaming(null),
    }),
    [may, open],
  )
  const onCommand = (command: ListCommand): void => {
    if (change(command)) return
    const cursor = files.find(({ id }) => id === selection.cursor)
    const targets = chosen.length > 0 ? chosen : cursor ? [cursor] : []
    switch (command.is) {
      case 'open':
        return cursor && open(cursor)
      case 'undo':
        return void takeBack()
      case 'up':
        return up?.()
      case 'rename':
        return may !== 'view' && targets.length === 1 ? setRenaming(targets[0]!.id) : undefined
      case 'trash':
        if (may !== 'all' || targets.length === 0) return
        setSelection(without(files, targets))
        return void trash(targets)
      // `change` handles these.
      case 'all':
      case 'go':
      case 'mark':
      case 'none':
      case 'select':
        break
    }
  }
  if (error && !data) return <Failure what="This folder" error={error} again={refetch} />
  return (
    <div
      {...drop.on}
      className={`relative flex min-h-0 flex-1 flex-col ${drop.over ? 'outline-2 -outline-offset-2 outline-ai outline-dashed' : ''}`}
    >
      <SelectionBar
        chosen={chosen}
        total={files.length}
        actions={actionsOn(chosen)}
        onNone={() => setSelection({ ...selection, selected: new Set(), anchor: null })}
      />
      {data === undefined ? (
        <RowsComing />
      ) : files.length === 0 && !isPlaceholderData ? (
        <Nothing place={place} name={name} mayWrite={may !== 'view'} />
      ) : (
        <FileList
          label={`Contents of ${name}`}
          files={files}
          view={view}
          sort={sort}
          onSort={onSort}
          selection={selection}
          renaming={renaming}
          actions={actions}
          onCommand={onCommand}
          stale={isPlaceholderData}
        />
      )}
      {sharing.on && <ShareDialog key={sharing.on.id} file={sharing.on} open={sharing.open} onOpen={sharing.onOpen} />}
      {moving.on && <MoveDialog files={moving.on} open={moving.open} onOpen={moving.onOpen} />}
    </div>
  )
}

function actionsFor(
  files: readonly DriveFile[],
  may: Props['may'],
  on: {
    open: (file: DriveFile) => void
    share: (file: DriveFile) => void
    rename: (id: string) => void
    move: (files: readonly DriveFile[]) => void
  },
): Action[] {
  const file = files.length === 1 ? files[0]! : null
  const mayWrite = may === 'all'
  return [
    ...(file
      ? [
          { label: 'Open', run: () => on.open(file) },
          { label: file.kind === 'folder' ? 'Download as ZIP' : 'Download', run: () => download(file) },
        ]
      : []),
    ...(file && mayWrite ? [{ label: 'Share …', run: () => on.share(file) }] : []),
    ...(file && may !== 'view' ? [{ label: 'Rename', run: () => on.rename(file.id) }] : []),
    ...(mayWrite ? [{ label: 'Move …', run: () => on.move(files) }] : []),
    ...(mayWrite ? [{ label: 'Move to trash', danger: true, run: () => void trash(files) }] : []),
  ]
}

/** Shown with a delay to avoid flicker. */
function RowsComing() {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div role="status" aria-label="Loading the folder" className="flex-1">
      {late &&
        Array.from({ length: 8 }, (_, row) => (
          <div key={row} className="flex h-12 items-center gap-3 border-b border-line px-3">
            <span className="size-6 rounded-xs bg-sunk" />
            <span className="h-3 w-2/5 rounded-xs bg-sunk" />
          </div>
        ))}
    </div>
  )
}
