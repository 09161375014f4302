import { type Virtualizer, useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useFindKeys } from '../../../ui/find/find-keys.ts'
import { visible } from '../../../ui/text/visible.ts'
import { PdfBar } from './bar.tsx'
import { PdfFind } from './find.tsx'
import type { Pdf } from './open-pdf.ts'
import { PdfPage } from './page.tsx'
import { LETTER, type Size, type Zoom, nextZoom, scaleFor, zoomOf } from './size.ts'

const GAP_PX = 12
const MARGIN_PX = 16

/** All pages in a scrolling list. Only pages in and near the view are rendered. */
export function PdfPages({ pdf, name, onWords }: { pdf: Pdf; name: string; onWords: () => void }) {
  const scroller = useRef<HTMLDivElement>(null)
  const room = useRoom(scroller)
  const sizes = useRef(new Map<number, Size>())
  const [zoom, setZoom] = useState<Zoom>('width')
  const [finding, setFinding] = useState(false)
  /** Page sizes. The first page's size is assumed for pages that aren't read yet. */
  const sizeOf = (number: number): Size => sizes.current.get(number) ?? sizes.current.get(1) ?? LETTER
  const heightOf = (number: number): number => {
    const size = sizeOf(number)
    return Math.floor(size.height * scaleFor(size, zoom, room)) + GAP_PX
  }
  const list = useVirtualizer({
    count: room === 0 ? 0 : pdf.numPages,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => heightOf(at + 1),
    overscan: 1,
    paddingStart: GAP_PX,
  })
  const latest = useRef({ heightOf, list })
  latest.current = { heightOf, list }
  const onSize = useCallback((number: number, size: Size) => {
    const { heightOf: height, list: of } = latest.current
    const first = sizes.current.size === 0
    const before = sizes.current.get(number)
    if (before?.width === size.width && before.height === size.height) return
    sizes.current.set(number, size)
    if (first) of.measure()
    else of.resizeItem(number - 1, height(number))
  }, [])
  const offset = (list.scrollOffset ?? 0) + (scroller.current?.clientHeight ?? 0) / 3
  const current = (list.getVirtualItemForOffset(offset)?.index ?? 0) + 1
  const keepPlace = useKeptPlace({ scroller, list, heightOf, zoom, room })
  const go = useCallback(
    (page: number) => {
      const number = Math.min(pdf.numPages, Math.max(1, page))
      latest.current.list.scrollToIndex(number - 1, { align: 'start' })
    },
    [pdf],
  )
  const scale = zoomOf(scaleFor(sizeOf(current), zoom, room))
  const zoomBy = (by: 'in' | 'out'): void => setZoom(nextZoom(scale, by))
  const openFind = useCallback(() => setFinding(true), [])
  const endFind = (): void => {
    setFinding(false)
    scroller.current?.focus({ preventScroll: true })
  }
  useFindKeys(openFind)
  const keys: Record<string, () => void> = {
    '+': () => zoomBy('in'),
    '=': () => zoomBy('in'),
    '-': () => zoomBy('out'),
    0: () => setZoom('width'),
    ArrowRight: () => go(current + 1),
    ArrowLeft: () => go(current - 1),
  }
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PdfBar
        page={current}
        pages={pdf.numPages}
        percent={Math.round(scale * 100)}
        onPage={go}
        onZoom={zoomBy}
        onWidth={() => setZoom('width')}
        onFind={() => setFinding(true)}
        onWords={onWords}
      />
      {finding && <PdfFind pdf={pdf} from={current} box={scroller} onPage={go} onClose={endFind} />}
      <div
        ref={scroller}
        role="region"
        aria-label={`Pages of ${visible(name)}`}
        tabIndex={0}
        onKeyDown={(event) => hear(event, keys)}
        onScroll={keepPlace}
        className="min-h-0 flex-1 overflow-auto overscroll-contain bg-sunk outline-offset-[-2px] [overflow-anchor:none]"
      >
        <div className="relative min-w-fit" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              className="absolute top-0 left-0 min-w-full px-4"
              style={{ transform: `translateY(${start}px)` }}
            >
              <PdfPage pdf={pdf} number={index + 1} zoom={zoom} room={room} size={sizeOf(index + 1)} onSize={onSize} />
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

function hear(event: KeyboardEvent, keys: Record<string, () => void>): void {
  const run = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
  if (!run) return
  event.preventDefault()
  run()
}

/** Keeps the current page in place when zooming. Returns the handler that notices scrolling. */
function useKeptPlace({
  scroller,
  list,
  heightOf,
  zoom,
  room,
}: {
  scroller: RefObject<HTMLDivElement | null>
  list: Virtualizer<HTMLDivElement, Element>
  heightOf: (page: number) => number
  zoom: Zoom
  room: number
}): () => void {
  const place = useRef({ page: 0, part: 0 })
  const resized = useRef(false)
  useLayoutEffect(() => {
    if (!resized.current) return
    resized.current = false
    const { page, part } = place.current
    let start = GAP_PX
    for (let before = 1; before <= page; before++) start += heightOf(before)
    if (page > 0 || part > 0) scroller.current!.scrollTop = start + part * heightOf(page + 1)
  })
  useLayoutEffect(() => {
    // Renders again, so that the effect above sees the new heights.
    resized.current = true
    list.measure()
  }, [zoom, room])
  return () => {
    // The virtual list is notified after this.
    const at = scroller.current!.scrollTop
    const item = list.getVirtualItemForOffset(at)
    if (item) place.current = { page: item.index, part: (at - item.start) / item.size }
  }
}

function useRoom(of: RefObject<HTMLElement | null>): number {
  const [room, setRoom] = useState(0)
  useEffect(() => {
    const box = of.current!
    const watch = new ResizeObserver(() => setRoom(Math.max(1, box.clientWidth - 2 * MARGIN_PX)))
    watch.observe(box)
    return () => watch.disconnect()
  }, [of])
  return room
}
