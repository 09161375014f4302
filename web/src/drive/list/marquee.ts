import { type MouseEvent, type PointerEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { type Box, covered, type Layout } from './covered.ts'

/** Smaller movements count as clicks. */
const DRAG_PX = 4
/** The distance from an edge that starts scrolling. */
const EDGE_PX = 28
const SCROLL_PX = 14
/** Where a press isn't the start of a selection box: controls, drag handles and selected files. */
const HELD = 'a, button, input, [data-grip], [role=columnheader], [role=row][aria-selected=true]'

interface Point {
  x: number
  y: number
}

interface Press {
  pointer: number
  from: Point
  now: Point
  drawn: boolean
  adds: boolean
}

/**
 * Selects with a mouse by dragging a box from empty space or an unselected row; Ctrl or Shift extends the selection.
 * Escape cancels and clears, like a click on empty space. Touch scrolls as usual.
 */
export function useMarquee(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  layout: Layout,
  on: { covers: (indices: readonly number[], adds: boolean, begins: boolean) => void; nothing: () => void },
) {
  const [box, setBox] = useState<Box | null>(null)
  const press = useRef<Press | null>(null)
  const latest = useRef({ layout, on })
  latest.current = { layout, on }
  const frame = useRef(0)
  const last = useRef('')

  const inContent = ({ x, y }: Point): Point => {
    const { left, top } = content.current!.getBoundingClientRect()
    return { x: x - left, y: y - top }
  }
  const draw = (): void => {
    const active = press.current!
    const to = inContent(active.now)
    const next = {
      left: Math.min(active.from.x, to.x),
      top: Math.min(active.from.y, to.y),
      right: Math.max(active.from.x, to.x),
      bottom: Math.max(active.from.y, to.y),
    }
    const { width, height } = content.current!.getBoundingClientRect()
    setBox({
      left: Math.max(0, next.left),
      top: Math.max(0, next.top),
      right: Math.min(width, next.right),
      bottom: Math.min(Math.max(height, scroller.current!.clientHeight), next.bottom),
    })
    const indices = covered(next, width, latest.current.layout)
    const key = indices.join()
    if (active.drawn && key === last.current) return
    latest.current.on.covers(indices, active.adds, !active.drawn)
    active.drawn = true
    last.current = key
  }
  /** Scrolls the list while the pointer is at an edge. */
  const scroll = (): void => {
    const active = press.current
    if (active === null) return
    const { top, bottom } = scroller.current!.getBoundingClientRect()
    const by = active.now.y < top + EDGE_PX ? -SCROLL_PX : active.now.y > bottom - EDGE_PX ? SCROLL_PX : 0
    if (active.drawn && by !== 0) {
      scroller.current!.scrollBy(0, by)
      draw()
    }
    frame.current = requestAnimationFrame(scroll)
  }
  const startScroll = (): void => {
    frame.current = requestAnimationFrame(scroll)
  }
  const end = (): void => {
    cancelAnimationFrame(frame.current)
    press.current = null
    setBox(null)
  }
  useEffect(() => () => cancelAnimationFrame(frame.current), [])

  const starts = (event: { target: EventTarget; clientX: number }): boolean => {
    const { left } = scroller.current!.getBoundingClientRect()
    const isOnScrollbar = event.clientX >= left + scroller.current!.clientWidth
    return !isOnScrollbar && event.target instanceof Element && event.target.closest(HELD) === null
  }
  return {
    box,
    handlers: handlersOf({
      press,
      scroller,
      starts,
      inContent,
      draw,
      end,
      startScroll,
      onNothing: () => latest.current.on.nothing(),
    }),
    cancel(): boolean {
      if (press.current?.drawn !== true) return false
      end()
      return true
    },
  }
}

const handlersOf = ({
  press,
  scroller,
  starts,
  inContent,
  draw,
  end,
  startScroll,
  onNothing,
}: {
  press: RefObject<Press | null>
  scroller: RefObject<HTMLElement | null>
  starts: (event: { target: EventTarget; clientX: number }) => boolean
  inContent: (point: Point) => Point
  draw: () => void
  end: () => void
  startScroll: () => void
  onNothing: () => void
}) => ({
  onMouseDown(event: MouseEvent) {
    if (event.button !== 0 || press.current === null) return
    // Prevents dragging the row or selecting text; the list keeps the keyboard focus.
    event.preventDefault()
    scroller.current!.focus({ preventScroll: true })
  },
  onPointerDown(event: PointerEvent) {
    if (event.pointerType !== 'mouse' || event.button !== 0 || !starts(event)) return
    const now = { x: event.clientX, y: event.clientY }
    const adds = event.ctrlKey || event.metaKey || event.shiftKey
    press.current = { pointer: event.pointerId, from: inContent(now), now, drawn: false, adds }
  },
  onPointerMove(event: PointerEvent) {
    const active = press.current
    if (active?.pointer !== event.pointerId) return
    // The button was released outside the window.
    if ((event.buttons & 1) === 0) return end()
    const before = active.now
    const now = { x: event.clientX, y: event.clientY }
    if (!active.drawn) {
      if (Math.hypot(now.x - before.x, now.y - before.y) < DRAG_PX) return
      // Suppresses the click at the end of the drag.
      scroller.current!.setPointerCapture(event.pointerId)
      startScroll()
    }
    active.now = now
    draw()
  },
  onPointerUp(event: PointerEvent) {
    const active = press.current
    if (active?.pointer !== event.pointerId) return
    const isOnNothing = !active.drawn && !active.adds && (event.target as Element).closest('[role=row]') === null
    end()
    if (isOnNothing) onNothing()
  },
  onPointerCancel: end,
})
