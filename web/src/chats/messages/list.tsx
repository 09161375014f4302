import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import type { Message } from '../queries.ts'

/** The distance to the end, in pixels, within which a reader follows what is being written. */
const NEAR = 80
const FIRST_GUESS = 140

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
}: {
  rows: readonly Message[]
  /** An answer is being written: it is read out when it is whole. */
  busy: boolean
  earlier: 'none' | 'more' | 'coming'
  onEarlier: () => void
  children: (message: Message) => ReactNode
  /** What stands behind the last message. */
  end: ReactNode
}) {
  const scroller = useRef<HTMLDivElement>(null)
  const tail = useRef<HTMLDivElement>(null)
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
  const begun = useRef(false)
  useLayoutEffect(() => {
    if (begun.current || rows.length === 0) return
    begun.current = true
    list.scrollToEnd()
  }, [rows.length, list])
  const items = list.getVirtualItems()
  const first = items[0]?.index
  useEffect(() => {
    if (begun.current && first === 0 && earlier === 'more') onEarlier()
  }, [first, earlier, onEarlier])
  const toEnd = (): void => {
    list.scrollToEnd()
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  }
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-label="Messages"
        aria-busy={busy}
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          setAway(scrollHeight - scrollTop - clientHeight > NEAR)
        }
        className="h-full overflow-y-auto overscroll-contain outline-offset-[-2px] [overflow-anchor:none]"
      >
        {earlier === 'coming' && <p className="py-3 text-center text-sm text-quiet">Earlier messages …</p>}
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
        <div ref={tail}>{end}</div>
      </div>
      {away && (
        <Button icon="down" onClick={toEnd} className="absolute right-4 bottom-3 shadow-sm">
          To the newest
        </Button>
      )}
    </div>
  )
}
