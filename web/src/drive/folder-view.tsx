import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Action } from '../ui/dialogs/menu.tsx'
import { useOpen } from '../ui/dialogs/dialog.tsx'
import { Failure } from '../ui/notice.tsx'
import { download, trash } from './deeds.ts'
import { useDrop } from './list/drag.ts'
import { FileList } from './list/file-list.tsx'
import type { Wish } from './list/list-keys.ts'
import type { RowDeeds } from './list/row.tsx'
import { all, click, keep, marked, nothing, step } from './list/selection.ts'
import { type Sort, sorted } from './list/sort.ts'
import { Nothing } from './nothing.tsx'
import { rowsQuery } from './queries.ts'
import type { DriveFile, Place } from '../shared/drive/files.ts'
import { SelectionBar } from './selection-bar.tsx'
import { ShareDialog } from './share/share-dialog.tsx'
import { MoveDialog } from './tree/move-dialog.tsx'
import { takeBack } from './undo.ts'

interface Props {
  place: Place
  name: string
  may: 'view' | 'edit' | 'all'
  /** The parent folder; null at the root. */
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
  const ids = useMemo(() => files.map(({ id }) => id), [files])
  const [held, setSelection] = useState(nothing)
  const selection = useMemo(() => keep(held, ids), [held, ids])
  const [renaming, setRenaming] = useState<string | null>(null)
  const beforeMark = useRef<ReadonlySet<string>>(new Set())
  const sharing = useOpen<DriveFile>()
  const moving = useOpen<readonly DriveFile[]>()
  const drop = useDrop(may === 'view' ? null : place, name, 'files')
  useEffect(() => setSelection(nothing), [place.folderId, place.workspaceId])

  const chosen = useMemo(() => files.filter(({ id }) => selection.selected.has(id)), [files, selection.selected])
  const now = useRef({ files, ids, selection, chosen })
  now.current = { files, ids, selection, chosen }

  const open = useCallback(
    ({ id, kind }: DriveFile) =>
      void (kind === 'folder'
        ? navigate({ to: '/drive/f/$folder', params: { folder: id } })
        : navigate({ to: '/drive/file/$id', params: { id } })),
    [navigate],
  )
  const deeds: RowDeeds = useMemo(
    () => ({
      may,
      click: (file, how) => setSelection(click(now.current.selection, now.current.ids, file.id, how)),
      along(file) {
        const { selection: of, chosen: some } = now.current
        if (of.selected.has(file.id)) return some
        setSelection(click(of, now.current.ids, file.id, 'alone'))
        return [file]
      },
      actions: (file) => actionsOn([file]),
      renamed: () => setRenaming(null),
    }),
    [may, open],
  )
  function actionsOn(some: readonly DriveFile[]): Action[] {
    const one = some.length === 1 ? some[0]! : null
    const writes = may === 'all'
    return [
      ...(one ? [{ label: 'Open', run: () => open(one) }] : []),
      ...(one ? [{ label: one.kind === 'folder' ? 'Download as ZIP' : 'Download', run: () => download(one) }] : []),
      ...(one && writes ? [{ label: 'Share …', run: () => sharing.show(one) }] : []),
      ...(one && may !== 'view' ? [{ label: 'Rename', run: () => setRenaming(one.id) }] : []),
      ...(writes ? [{ label: 'Move …', run: () => moving.show(some) }] : []),
      ...(writes ? [{ label: 'Move to trash', danger: true, run: () => void trash(some) }] : []),
    ]
  }
  const onWish = (wish: Wish): void => {
    const cursor = files.find(({ id }) => id === selection.cursor)
    const meant = chosen.length > 0 ? chosen : cursor ? [cursor] : []
    switch (wish.is) {
      case 'go':
        return setSelection(step(selection, ids, Math.max(-files.length, Math.min(files.length, wish.by)), wish.range))
      case 'mark':
        if (wish.begins) beforeMark.current = wish.adds ? selection.selected : new Set()
        return setSelection(
          marked(
            selection,
            beforeMark.current,
            wish.indices.map((at) => ids[at]!),
          ),
        )
      case 'open':
        return cursor && open(cursor)
      case 'select':
        return cursor && setSelection(click(selection, ids, cursor.id, 'toggle'))
      case 'all':
        return setSelection(all(selection, ids))
      case 'none':
        return setSelection({ ...selection, selected: new Set(), anchor: null })
      case 'undo':
        return void takeBack()
      case 'up':
        return up?.()
      case 'rename':
        return may !== 'view' && meant.length === 1 ? setRenaming(meant[0]!.id) : undefined
      case 'trash': {
        if (may !== 'all' || meant.length === 0) return
        // Keeps the cursor at the same position.
        const gone = new Set(meant.map(({ id }) => id))
        const at = files.findIndex(({ id }) => gone.has(id))
        const next = files.slice(at).find(({ id }) => !gone.has(id)) ?? files.slice(0, at).at(-1)
        setSelection({ selected: new Set(), cursor: next?.id ?? null, anchor: null })
        return void trash(meant)
      }
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
          deeds={deeds}
          onWish={onWish}
          stale={isPlaceholderData}
        />
      )}
      {sharing.on && <ShareDialog key={sharing.on.id} file={sharing.on} open={sharing.open} onOpen={sharing.onOpen} />}
      {moving.on && <MoveDialog files={moving.on} open={moving.open} onOpen={moving.onOpen} />}
    </div>
  )
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
