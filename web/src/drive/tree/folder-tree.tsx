import { queryOptions, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { type Workspace, everyRow, uk } from '../../shared/api.ts'
import { visible } from '../../ui/text/visible.ts'
import { Icon } from '../../ui/icons.tsx'
import { useDrop } from '../list/drag.ts'
import type { Place } from '../../shared/drive/files.ts'

const foldersQuery = ({ workspaceId, folderId }: Place) =>
  queryOptions({
    queryKey: ['drive', 'folders', folderId ?? workspaceId],
    queryFn: async () => {
      const rows = await everyRow(
        uk.drive.list({ workspace_id: workspaceId, parent_id: folderId ?? 'root', kind: 'folder', limit: 100 }),
      )
      return rows.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }))
    },
    staleTime: 30_000,
  })

const unfolded = new Set<string>()

interface FolderProps {
  current: Place | null
  takesDrops?: boolean
  onPick: (place: Place, name: string) => void
}

/** The folders of all workspaces as a tree with keyboard navigation by the ARIA practices. */
export function FolderTree({
  label,
  workspaces,
  open = [],
  ...given
}: FolderProps & { label: string; workspaces: readonly Workspace[]; open?: readonly string[] }) {
  const { current } = given
  const [, redraw] = useState(0)
  const opened = open.join()
  useEffect(() => {
    for (const id of open) unfolded.add(id)
    if (current) unfolded.add(current.workspaceId)
    redraw((n) => n + 1)
  }, [opened, current?.workspaceId])
  return (
    <ul role="tree" aria-label={label} onKeyDown={walk} className="text-sm">
      {workspaces.map(({ id, name }, at) => (
        <Node
          key={id}
          place={{ workspaceId: id, folderId: null }}
          name={name}
          level={1}
          isFirst={at === 0 && current === null}
          {...given}
        />
      ))}
    </ul>
  )
}

function Node({
  place,
  name,
  level,
  isFirst = false,
  ...given
}: FolderProps & { place: Place; name: string; level: number; isFirst?: boolean }) {
  const { current, takesDrops = false, onPick } = given
  const id = place.folderId ?? place.workspaceId
  const [isOpen, setOpen] = useState(unfolded.has(id))
  // Expanded from outside, when a folder was opened elsewhere.
  const isUnfolded = isOpen || unfolded.has(id)
  const { data: folders } = useQuery({ ...foldersQuery(place), enabled: isUnfolded })
  const { over, on } = useDrop(takesDrops ? place : null, name)
  const isCurrent = current?.workspaceId === place.workspaceId && current.folderId === place.folderId
  const fold = (to: boolean): void => {
    if (to) unfolded.add(id)
    else unfolded.delete(id)
    setOpen(to)
  }
  const leaf = isUnfolded && folders?.length === 0
  return (
    <>
      <li
        role="treeitem"
        aria-level={level}
        aria-selected={isCurrent}
        {...(!leaf && { 'aria-expanded': isUnfolded })}
        tabIndex={isCurrent || isFirst ? 0 : -1}
        className="outline-none focus-visible:[&>div]:outline-2 focus-visible:[&>div]:-outline-offset-2 focus-visible:[&>div]:outline-ai"
        onKeyDown={(event) => {
          if (event.target !== event.currentTarget) return
          const to = { ArrowRight: true, ArrowLeft: false }[event.key]
          if (to !== undefined && to !== isUnfolded && !leaf) {
            event.preventDefault()
            event.stopPropagation()
            fold(to)
          }
          if (event.key !== 'Enter' && event.key !== ' ') return
          event.preventDefault()
          onPick(place, name)
        }}
      >
        <div
          {...on}
          className={`flex cursor-pointer items-center gap-1 py-1 pr-2 hover:bg-sunk ${
            isCurrent ? 'bg-ai-wash font-medium' : ''
          } ${over ? 'bg-ai-wash outline-2 -outline-offset-2 outline-ai' : ''}`}
          style={{ paddingLeft: `${level * 0.75 - 0.25}rem` }}
          onClick={() => onPick(place, name)}
        >
          <span
            aria-hidden="true"
            className={`flex size-5 shrink-0 items-center justify-center text-quiet ${leaf ? 'invisible' : ''}`}
            onClick={(event) => {
              event.stopPropagation()
              fold(!isUnfolded)
            }}
          >
            <Icon name="chevron" className={`size-3.5 transition-transform ${isUnfolded ? '' : '-rotate-90'}`} />
          </span>
          <Icon name={level === 1 ? 'people' : 'folder'} className="size-4 text-ai" />
          <span className="truncate" title={visible(name)}>
            {visible(name)}
          </span>
        </div>
      </li>
      {isUnfolded &&
        folders?.map((folder) => (
          <Node
            key={folder.id}
            place={{ workspaceId: folder.workspace_id, folderId: folder.id }}
            name={folder.name}
            level={level + 1}
            {...given}
          />
        ))}
    </>
  )
}

function walk(event: KeyboardEvent<HTMLUListElement>): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=treeitem]')]
  const at = items.indexOf(event.target as HTMLElement)
  if (at === -1) return
  const here = items[at]!
  const to = {
    ArrowDown: items[at + 1],
    ArrowUp: items[at - 1],
    Home: items[0],
    End: items.at(-1),
    ArrowRight: items.slice(at + 1, at + 2).find((item) => item.ariaLevel === String(Number(here.ariaLevel) + 1)),
    ArrowLeft: items.slice(0, at).findLast((item) => item.ariaLevel === String(Number(here.ariaLevel) - 1)),
  }[event.key]
  if (!to) return
  event.preventDefault()
  to.focus()
}
