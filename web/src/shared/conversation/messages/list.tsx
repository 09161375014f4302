import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type PointerEvent,
  type KeyboardEvent as ReactKeyboardEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  type UIEvent,
  type WheelEvent,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Button } from '../../../ui/button.tsx'
import type { Message } from '../queries.ts'

/** The distance to the end, in pixels, within which the list follows new text. */
const NEAR = 80
const FIRST_GUESS = 140

export interface ListHandle {
  show(at: number): void
  box(): HTMLElement
}

/**
 * The virtualized message list. It follows the end while the reader is there, and keeps the reading position when older
 * messages load or the response grows.
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
  /** A response is streaming: screen readers announce it when it is complete. */
  busy: boolean
  earlier: 'none' | 'more' | 'coming'
  onEarlier: () => void
  children: (message: Message) => ReactNode
  end: ReactNode
}) {
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => FIRST_GUESS,
    getItemKey: (at) => rows[at]!.id,
    overscan: 6,
    anchorTo: 'end',
    followOnAppend: true,
  })
  // Rows above the view change height late (images, formulas, highlighted code). The rows in view don't move.
  const measured = useRef(new Set<unknown>()).current
  list.shouldAdjustScrollPositionOnItemSizeChange = ({ key, start, end }, _delta, { scrollOffset }) => {
    const isFirst = !measured.has(key)
    measured.add(key)
    // Below the top of the view, a row grows downward and moves nothing above it.
    const top = scrollOffset ?? 0
    return isFirst ? start < top : end <= top
  }
  const following = useFollowedEnd(scroller)
  useImperativeHandle(ref, () => ({
    show(at) {
      following.leave()
      list.scrollToIndex(at, { align: 'center' })
    },
    box: () => scroller.current!,
  }))
  const items = list.getVirtualItems()
  const first = items[0]?.index
  useEffect(() => {
    if (first === 0 && earlier === 'more' && !following.isFollowed()) onEarlier()
  }, [first, earlier, onEarlier])
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-label="Messages"
        aria-busy={busy}
        tabIndex={0}
        {...following.handlers}
        className="h-full overflow-y-auto overscroll-contain outline-offset-[-2px] [overflow-anchor:none]"
      >
        <p role="status" className="absolute inset-x-0 top-2 z-10 text-center text-sm text-quiet empty:hidden">
          {earlier === 'coming' && 'Loading earlier messages …'}
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
      {following.isAway && (
        <Button icon="down" onClick={following.jump} className="absolute right-4 bottom-3 shadow-sm">
          Jump to latest
        </Button>
      )}
    </div>
  )
}

/**
 * Keeps a reader at the end there while the content changes. Measured sizes and new rows scroll too, so only the
 * reader's own scrolling changes whether the end is followed.
 */
function useFollowedEnd(scroller: RefObject<HTMLDivElement | null>) {
  const [isAway, setAway] = useState(false)
  const follows = useRef(true)
  /** Scrolling down to the end follows it again. */
  const returns = useRef(false)
  useLayoutEffect(() => {
    const box = scroller.current!
    const follow = new ResizeObserver(() => {
      if (follows.current) box.scrollTop = box.scrollHeight
    })
    for (const one of [box, ...box.children]) follow.observe(one)
    // The browser's search also scrolls the page.
    const find = ({ key, ctrlKey, metaKey }: KeyboardEvent): void => {
      if (key === 'f' && (ctrlKey || metaKey)) follows.current = false
    }
    addEventListener('keydown', find)
    return () => {
      follow.disconnect()
      removeEventListener('keydown', find)
    }
  }, [scroller])
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
  return {
    isAway,
    isFollowed: () => follows.current,
    leave(): void {
      release()
      setAway(true)
    },
    jump(): void {
      hold()
      scroller.current!.scrollTop = scroller.current!.scrollHeight
    },
    handlers: {
      onScroll: ({ currentTarget: box }: UIEvent<HTMLElement>) => {
        const toEnd = box.scrollHeight - box.scrollTop - box.clientHeight
        if (returns.current && toEnd <= NEAR) hold()
        if (follows.current && toEnd > 1) box.scrollTop = box.scrollHeight
        setAway(!follows.current)
      },
      onWheel: ({ deltaY }: WheelEvent) => (deltaY < 0 ? release() : comeBack()),
      onTouchMove: release,
      onTouchEnd: comeBack,
      onPointerDown: ({ target, currentTarget }: PointerEvent) => void (target === currentTarget && release()),
      onPointerUp: comeBack,
      onKeyDown: ({ key }: ReactKeyboardEvent) => {
        if (/^(PageUp|ArrowUp|Home)$/.test(key)) release()
        if (/^(PageDown|ArrowDown|End| )$/.test(key)) comeBack()
      },
    },
  }
}
