import { useEffect, useMemo, useRef, useState } from 'react'
import type { DriveFile, Place } from '../shared/drive/files.ts'
import type { ListCommand } from './list/list-keys.ts'
import { all, click, keep, marked, nothing, step } from './list/selection.ts'

/** The selection is cleared in another folder and drops deleted files. */
export function useSelection(place: Place, files: readonly DriveFile[]) {
  const [lastSelection, setSelection] = useState(nothing)
  const ids = useMemo(() => files.map(({ id }) => id), [files])
  const selection = useMemo(() => keep(lastSelection, ids), [lastSelection, ids])
  const chosen = useMemo(() => files.filter(({ id }) => selection.selected.has(id)), [files, selection.selected])
  useEffect(() => setSelection(nothing), [place.folderId, place.workspaceId])
  const latest = useRef({ ids, selection, chosen })
  latest.current = { ids, selection, chosen }
  const beforeMark = useRef<ReadonlySet<string>>(new Set())

  const change = (command: ListCommand): boolean => {
    switch (command.is) {
      case 'go': {
        const by = Math.max(-files.length, Math.min(files.length, command.by))
        setSelection(step(selection, ids, by, command.range))
        return true
      }
      case 'mark': {
        if (command.begins) beforeMark.current = command.adds ? selection.selected : new Set()
        const under = command.indices.map((at) => ids[at]!)
        setSelection(marked(selection, beforeMark.current, under))
        return true
      }
      case 'select':
        if (selection.cursor !== null) setSelection(click(selection, ids, selection.cursor, 'toggle'))
        return true
      case 'all':
        setSelection(all(selection, ids))
        return true
      case 'none':
        setSelection({ ...selection, selected: new Set(), anchor: null })
        return true
      default:
        return false
    }
  }
  return { selection, setSelection, chosen, latest, change }
}
