import { useState } from 'react'
import { Button, IconButton } from '../../../ui/button.tsx'
import { number } from '../../../ui/text/format.ts'

export function PdfBar({
  page,
  pages,
  percent,
  onPage,
  onZoom,
  onWidth,
  onFind,
  onWords,
}: {
  page: number
  pages: number
  percent: number
  onPage: (page: number) => void
  onZoom: (by: 'in' | 'out') => void
  onWidth: () => void
  onFind: () => void
  onWords: () => void
}) {
  /** The typed page number; null: the field shows the current page. */
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <div
      role="toolbar"
      aria-label="Pages"
      className="flex flex-wrap items-center gap-x-1 gap-y-1 border-b border-line bg-sheet px-2 py-1 text-sm sm:px-3"
    >
      <IconButton
        className="max-sm:hidden"
        label="Previous page (←)"
        icon="up"
        disabled={page <= 1}
        onClick={() => onPage(page - 1)}
      />
      <IconButton
        className="max-sm:hidden"
        label="Next page (→)"
        icon="down"
        disabled={page >= pages}
        onClick={() => onPage(page + 1)}
      />
      <form
        className="figures flex items-center gap-1.5 text-quiet"
        onSubmit={(event) => {
          event.preventDefault()
          const typedPage = Number(typed)
          if (typed !== null && Number.isInteger(typedPage)) onPage(typedPage)
          setTyped(null)
        }}
      >
        <input
          aria-label="Page"
          inputMode="numeric"
          className="field w-14! px-1.5! py-1! text-center"
          value={typed ?? page}
          onChange={({ target }) => setTyped(target.value)}
          onFocus={({ target }) => target.select()}
          onBlur={() => setTyped(null)}
        />
        <span>of {number(pages)}</span>
      </form>
      <span className="flex-1" />
      <IconButton label="Zoom out (−)" icon="minus" onClick={() => onZoom('out')} />
      <Button look="quiet" className="figures px-1.5!" title="Fit to width (0)" onClick={onWidth}>
        {percent} %
      </Button>
      <IconButton label="Zoom in (+)" icon="plus" onClick={() => onZoom('in')} />
      <IconButton label="Find (/)" icon="search" onClick={onFind} />
      <Button look="quiet" className="px-2!" onClick={onWords}>
        Text only
      </Button>
    </div>
  )
}
