import { type DragEvent, useState } from 'react'
import { say } from '../../ui/toast/toast.tsx'
import { move } from '../file-actions.ts'
import type { DriveFile, Place } from '../../shared/drive/files.ts'
import { droppedIn } from '../../shared/drive/uploads/dropped.ts'
import { uploads } from '../../shared/drive/uploads/uploads.ts'

/** The files being dragged on this page. Empty for drags from outside. */
let dragged: readonly DriveFile[] = []

export const dragging = {
  start({ dataTransfer }: DragEvent, files: readonly DriveFile[]): void {
    dragged = files
    dataTransfer.effectAllowed = 'move'
    dataTransfer.setData('text/plain', files.map(({ name }) => name).join('\n'))
  },
  end: (): void => void (dragged = []),
}

const bringsFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes('Files')

async function upload(data: DataTransfer, place: Place, name: string): Promise<void> {
  const chosen = await droppedIn(data)
  if (chosen.length === 0) return say('The dropped items contain no files')
  uploads.add(chosen, place, name)
}

/** A drop target for moving drive files and uploading external ones. Null: accepts nothing. */
export function useDrop(place: Place | null, name: string, takes: 'all' | 'files' = 'all') {
  const [over, setOver] = useState(false)
  const accepts = (event: DragEvent): boolean =>
    place !== null &&
    (dragged.length === 0
      ? bringsFiles(event)
      : takes === 'all' && dragged.every(({ id, parent_id }) => id !== place.folderId && parent_id !== place.folderId))
  const on = {
    onDragOver(event: DragEvent) {
      if (!accepts(event)) return
      event.preventDefault()
      // The innermost target wins.
      event.stopPropagation()
      event.dataTransfer.dropEffect = dragged.length === 0 ? 'copy' : 'move'
      setOver(true)
    },
    onDragLeave(event: DragEvent) {
      if (event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget)) return
      setOver(false)
    },
    onDrop(event: DragEvent) {
      setOver(false)
      if (!accepts(event)) return
      event.preventDefault()
      event.stopPropagation()
      if (dragged.length === 0) void upload(event.dataTransfer, place!, name)
      else void move(dragged, place!, name)
      dragged = []
    },
  }
  return { over, on }
}
