import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Icon } from '../../ui/icons.tsx'
import type { DriveFile } from '../../shared/drive/files.ts'
import type { Box } from './covered.ts'
import { useMarquee } from './marquee.ts'
import { type ListCommand, commandOf } from './list-keys.ts'
import { Row, type RowActions, columns as columnClass, rowId } from './row.tsx'
import type { Selection } from './selection.ts'
import { type Order, type Sort, orders } from './sort.ts'
import { Tile } from './tile.tsx'

const ROW_PX = 48
const TILE_PX = 188
const TILE_GAP_PX = 12
const TILE_WIDTH_PX = 180

interface Props {
  label: string
  files: readonly DriveFile[]
  view: 'list' | 'grid'
  sort: Sort
  onSort: (sort: Sort) => void
  selection: Selection
  renaming: string | null
  actions: RowActions
  onCommand: (command: ListCommand) => void
  /** The previous folder's rows are shown while these load. */
  stale: boolean
}

export function FileList({ label, files, view, sort, onSort, selection, renaming, actions, onCommand, stale }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const width = useWidth(scroller)
  const columns = view === 'list' ? 1 : Math.max(1, Math.floor((width - 16) / TILE_WIDTH_PX))
  const size = view === 'list' ? ROW_PX : TILE_PX
  const list = useVirtualizer({
    count: Math.ceil(files.length / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => size,
    overscan: 8,
    // The sticky header covers them.
    scrollMargin: 0,
    scrollPaddingStart: view === 'list' ? 36 : 0,
  })
  useEffect(() => list.measure(), [list, size])
  const at = selection.cursor === null ? -1 : files.findIndex(({ id }) => id === selection.cursor)
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(Math.floor(at / columns), { align: 'auto' })
    // Only when the cursor moves: rows that load don't scroll the list back.
  }, [selection.cursor])
  const content = useRef<HTMLDivElement>(null)
  const gap = view === 'grid' ? TILE_GAP_PX : 0
  const marquee = useMarquee(
    scroller,
    content,
    { count: files.length, columns, pitch: size, height: size - gap, gap },
    {
      covers: (indices, adds, begins) => onCommand({ is: 'mark', indices, adds, begins }),
      nothing: () => onCommand({ is: 'none' }),
    },
  )
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') marquee.cancel()
    if (event.target instanceof HTMLInputElement && event.target.type !== 'checkbox') return
    // Keys for controls in a row, such as its menu.
    if (event.target instanceof HTMLButtonElement && (event.key === 'Enter' || event.key === ' ')) return
    const command = commandOf(event, {
      columns,
      page: columns * Math.max(1, Math.floor((scroller.current?.clientHeight ?? size) / size) - 1),
    })
    if (command === null) return
    event.preventDefault()
    onCommand(command)
  }
  const propsOf = (file: DriveFile, index: number) => ({
    file,
    at: index,
    isSelected: selection.selected.has(file.id),
    isCursor: file.id === selection.cursor,
    isRenaming: file.id === renaming,
    actions,
  })
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={files.length + 1}
      aria-multiselectable
      aria-busy={stale}
      tabIndex={0}
      {...(at >= 0 && { 'aria-activedescendant': rowId(files[at]!.id) })}
      onKeyDown={onKeyDown}
      {...marquee.handlers}
      className="relative min-h-0 flex-1 overflow-y-auto overscroll-contain outline-offset-[-2px] [overflow-anchor:none]"
    >
      <Heads sort={sort} onSort={onSort} hidden={view === 'grid'} />
      <div
        ref={content}
        role="rowgroup"
        className={`relative ${stale ? 'opacity-60' : ''} ${view === 'grid' ? 'mx-2 mt-2' : ''}`}
        style={{ height: list.getTotalSize() }}
      >
        {list.getVirtualItems().map((item) => (
          <div
            key={item.key}
            role="presentation"
            className={`absolute inset-x-0 top-0 ${view === 'grid' ? 'grid gap-3' : ''}`}
            style={{
              transform: `translateY(${item.start}px)`,
              ...(view === 'grid' && { gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }),
            }}
          >
            {files.slice(item.index * columns, (item.index + 1) * columns).map((file, offset) => {
              const props = propsOf(file, item.index * columns + offset)
              return view === 'list' ? <Row key={file.id} {...props} /> : <Tile key={file.id} {...props} />
            })}
          </div>
        ))}
        {marquee.box && <SelectionBox box={marquee.box} />}
      </div>
    </div>
  )
}

function SelectionBox({ box: { left, top, right, bottom } }: { box: Box }) {
  return (
    <div
      aria-hidden="true"
      data-marquee
      className="pointer-events-none absolute z-10 border border-ai bg-ai/10"
      style={{ left, top, width: right - left, height: bottom - top }}
    />
  )
}

const words: Record<Order, string> = { name: 'Name', kind: 'Kind', modified: 'Modified', size: 'Size' }

function Heads({ sort, onSort, hidden }: { sort: Sort; onSort: (sort: Sort) => void; hidden: boolean }) {
  const shown = (['name', 'kind', 'modified', 'size'] as const).filter((order) => orders.includes(order))
  return (
    <div role="rowgroup" className={hidden ? 'sr-only' : 'sticky top-0 z-10 border-b border-keyline bg-paper'}>
      <div role="row" aria-rowindex={1} className="flex h-9 items-center gap-3 px-3 text-[0.8125rem] text-quiet">
        <span role="columnheader" className={columnClass.select}>
          <span className="sr-only">Selected</span>
        </span>
        {shown.map((order) => (
          <span
            key={order}
            role="columnheader"
            aria-sort={sort.by === order ? (sort.down ? 'descending' : 'ascending') : 'none'}
            className={columnClass[order]}
          >
            <button
              type="button"
              className="inline-flex items-center gap-1 hover:text-ink"
              onClick={() =>
                onSort({ by: order, down: sort.by === order ? !sort.down : order !== 'name' && order !== 'kind' })
              }
            >
              {words[order]}
              {sort.by === order && <Icon name={sort.down ? 'down' : 'up'} className="size-3" />}
            </button>
          </span>
        ))}
        <span role="columnheader" className={columnClass.more}>
          <span className="sr-only">Actions</span>
        </span>
      </div>
    </div>
  )
}

function useWidth(of: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const box = of.current!
    const watch = new ResizeObserver(() => setWidth(box.clientWidth))
    watch.observe(box)
    return () => watch.disconnect()
  }, [of])
  return width
}
