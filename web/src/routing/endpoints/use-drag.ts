import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { type RefObject, useEffect, useRef, useState } from 'react'
import type { Drop } from './order.ts'

interface Dragged {
  list: string
  id: string
}

export function useDraggable(
  list: string,
  id: string,
): {
  row: RefObject<HTMLDivElement | null>
  handle: RefObject<HTMLSpanElement | null>
  dragging: boolean
} {
  const row = useRef<HTMLDivElement>(null)
  const handle = useRef<HTMLSpanElement>(null)
  const [dragging, setDragging] = useState(false)
  useEffect(() => {
    if (row.current === null || handle.current === null) return
    return draggable({
      element: row.current,
      dragHandle: handle.current,
      getInitialData: () => ({ list, id }) satisfies Dragged,
      onDragStart: () => setDragging(true),
      onDrop: () => setDragging(false),
    })
  }, [list, id])
  return { row, handle, dragging }
}

/** A drop target: its upper and lower quarters mean "next to it". Rows of another list are rejected with a message. */
export function useDropPlace(list: string, drop: (id: string, at: Drop) => void) {
  const place = useRef<HTMLLIElement>(null)
  const [over, setOver] = useState<Drop | null>(null)
  const latest = useRef(drop)
  latest.current = drop
  useEffect(() => {
    if (place.current === null) return
    return dropTargetForElements({
      element: place.current,
      canDrop: ({ source }) => typeof source.data['list'] === 'string',
      getData: ({ input, element }) => {
        const { top, height } = element.getBoundingClientRect()
        const part = (input.clientY - top) / height
        return { at: (part < 0.25 ? 'before' : part > 0.75 ? 'after' : 'into') satisfies Drop }
      },
      onDrag: ({ self, source }) => setOver(source.data['list'] === list ? (self.data['at'] as Drop) : null),
      onDragLeave: () => setOver(null),
      onDrop: ({ self, source }) => {
        setOver(null)
        latest.current(String(source.data['id']), self.data['at'] as Drop)
      },
    })
  }, [list])
  return { place, over }
}
