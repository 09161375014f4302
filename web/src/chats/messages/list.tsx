import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import type { Message } from '../queries.ts'

/** The distance to the end, in pixels, within which a reader follows what is being written. */
const NEAR = 80
const FIRST_GUESS = 140

export interface ListHandle {
  /** Brings a row into the middle of the view, and leaves the end. */
  show(at: number): void
  /** The element that holds the rows that are drawn. */
  box(): HTMLElement
}

/**
 * The messages of a branch, the newest at the bottom: only what is near the view is drawn, the end is followed while the
 * reader is at it, and what is read stays where it is when older messages come or the answer grows.
 */
export function MessageList({
  rows,
  busy,
  earlier,
  onEarlier,
  children,
  end,
  ref,
}: {
  ref?: Ref<ListHandle>
  rows: readonly Message[]
  /** Whether an answer is being written: it is read out when it is whole. */
  busy: boolean
  earlier: 'none' | 'more' | 'coming'
  onEarlier: () => void
  children: (message: Message) => ReactNode
  /** The elements behind the last message. */
  end: ReactNode
}) {
  const scroller = useRef<HTMLDivElement>(null)
  const [away, setAway] = useState(false)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => FIRST_GUESS,
    getItemKey: (at) => rows[at]!.id,
    overscan: 6,
    anchorTo: 'end',
    followOnAppend: true,
  })
  // Rows above the view grow late (pictures, formulas, colored code): the rows in view don't move, in either direction.
  const measured = useRef(new Set<unknown>()).current
  list.shouldAdjustScrollPositionOnItemSizeChange = ({ key, start, end }, _delta, { scrollOffset }) => {
    const isFirst = !measured.has(key)
    measured.add(key)
    // Below the top of the view a row grows downward, which moves nothing that is above it.
    const top = scrollOffset ?? 0
    return isFirst ? start < top : end <= top
  }
  // A reader at the end stays there: whatever grows, comes or is measured anew.
  const follows = useRef(true)
  /** Whether the reader is on the way down: at the end it is followed again. */
  const returns = useRef(false)
  useLayoutEffect(() => {
    const box = scroller.current!
    const follow = new ResizeObserver(() => {
      if (follows.current) box.scrollTop = box.scrollHeight
    })
    for (const one of [box, ...box.children]) follow.observe(one)
    // The browser's own search scrolls the page too.
    const find = ({ key, ctrlKey, metaKey }: KeyboardEvent): void => {
      if (key === 'f' && (ctrlKey || metaKey)) follows.current = false
    }
    addEventListener('keydown', find)
    return () => {
      follow.disconnect()
      removeEventListener('keydown', find)
    }
  }, [])
  useImperativeHandle(ref, () => ({
    show(at) {
      follows.current = false
      returns.current = false
      setAway(true)
      list.scrollToIndex(at, { align: 'center' })
    },
    box: () => scroller.current!,
  }))
  const items = list.getVirtualItems()
  const first = items[0]?.index
  useEffect(() => {
    if (first === 0 && earlier === 'more' && !follows.current) onEarlier()
  }, [first, earlier, onEarlier])
  // Sizes that are learnt and rows that come scroll too: only what a reader does lets go of the end, or returns to it.
  const release = (): void => {
    follows.current = false
    returns.current = false
  }
  const comeBack = (): void => {
    returns.current = true
  }
  const hold = (): void => {
    follows.current = true
    returns.current = false
  }
  const toEnd = (): void => {
    hold()
    scroller.current!.scrollTop = scroller.current!.scrollHeight
  }
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-label="Messages"
        aria-busy={busy}
        tabIndex={0}
        onScroll={({ currentTarget: box }) => {
          const left = box.scrollHeight - box.scrollTop - box.clientHeight
          if (returns.current && left <= NEAR) hold()
          if (follows.current && left > 1) box.scrollTop = box.scrollHeight
          setAway(!follows.current)
        }}
        onWheel={({ deltaY }) => (deltaY < 0 ? release() : comeBack())}
        onTouchMove={release}
        onTouchEnd={comeBack}
        onPointerDown={({ target, currentTarget }) => target === currentTarget && release()}
        onPointerUp={comeBack}
        onKeyDown={({ key }) => {
          if (/^(PageUp|ArrowUp|Home)$/.test(key)) release()
          if (/^(PageDown|ArrowDown|End| )$/.test(key)) comeBack()
        }}
        className="h-full overflow-y-auto overscroll-contain outline-offset-[-2px] [overflow-anchor:none]"
      >
        <p role="status" className="absolute inset-x-0 top-2 z-10 text-center text-sm text-quiet empty:hidden">
          {earlier === 'coming' && 'Earlier messages …'}
        </p>
        <div className="relative" style={{ height: list.getTotalSize() }}>
          {items.map((item) => (
            <div
              key={item.key}
              data-index={item.index}
              ref={list.measureElement}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {children(rows[item.index]!)}
            </div>
          ))}
        </div>
        <div>{end}</div>
      </div>
      {away && (
        <Button icon="down" onClick={toEnd} className="absolute right-4 bottom-3 shadow-sm">
          To the newest
        </Button>
      )}
    </div>
  )
}
