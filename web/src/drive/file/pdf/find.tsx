import { type RefObject, useDeferredValue, useEffect, useRef, useState } from 'react'
import { keepMarked } from '../../../ui/find/marks.ts'
import { IconButton } from '../../../ui/button.tsx'
import { number, plural } from '../../../ui/text/format.ts'
import { PageWords } from './find-pages.ts'
import type { Pdf } from './open-pdf.ts'

const TYPING_MS = 250

interface Matches {
  pages: readonly number[]
  isLooking: boolean
}
const nothing: Matches = { pages: [], isLooking: false }

export function PdfFind({
  pdf,
  from,
  box,
  onPage,
  onClose,
}: {
  pdf: Pdf
  /** The current page: the search starts there. */
  from: number
  box: RefObject<HTMLElement | null>
  onPage: (page: number) => void
  onClose: () => void
}) {
  const [read] = useState(() => new PageWords(pdf))
  const [words, setWords] = useState('')
  const query = useDeferredValue(words.trim())
  const [found, setFound] = useState(nothing)
  const [shown, setShown] = useState<number | null>(null)
  const begin = useRef(from)
  begin.current = from
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  useEffect(() => (box.current && query !== '' ? keepMarked(box.current, query) : undefined), [query, box])
  useEffect(() => {
    setShown(null)
    setFound(nothing)
    if (query === '') return
    let isAsked = true
    const start = begin.current
    const look = async (): Promise<void> => {
      const pages: number[] = []
      let isThere = false
      setFound({ pages, isLooking: true })
      for await (const page of read.pagesWith(query, () => isAsked)) {
        pages.push(page)
        setFound({ pages: [...pages], isLooking: true })
        if (isThere || page < start) continue
        isThere = true
        setShown(page)
        onPage(page)
      }
      if (!isAsked) return
      setFound({ pages, isLooking: false })
      if (isThere || pages.length === 0) return
      setShown(pages[0]!)
      onPage(pages[0]!)
    }
    const timer = setTimeout(() => void look(), TYPING_MS)
    return () => {
      isAsked = false
      clearTimeout(timer)
    }
  }, [query, read, onPage])
  const at = shown === null ? -1 : found.pages.indexOf(shown)
  const step = (by: 1 | -1): void => {
    const count = found.pages.length
    if (count === 0) return
    const next = found.pages[(at + by + count) % count]!
    setShown(next)
    onPage(next)
  }
  return (
    <search className="flex items-center gap-1 border-b border-line bg-sheet px-2 py-1.5 sm:px-3">
      <input
        ref={field}
        type="search"
        aria-label="Find in this PDF"
        placeholder="Find in this PDF"
        value={words}
        onChange={({ target }) => setWords(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onClose()
          else if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
          else return
          event.preventDefault()
        }}
        className="field min-w-0 max-w-sm flex-1"
      />
      <p role="status" className="figures min-w-0 flex-1 truncate px-2 text-sm text-quiet">
        {query === ''
          ? ''
          : found.pages.length === 0
            ? found.isLooking
              ? 'Searching …'
              : 'No results'
            : `${number(at + 1)} of ${plural(found.pages.length, 'page')}${found.isLooking ? ' …' : ''}`}
      </p>
      <IconButton
        label="Previous page (Shift Enter)"
        icon="up"
        disabled={found.pages.length < 2}
        onClick={() => step(-1)}
      />
      <IconButton label="Next page (Enter)" icon="down" disabled={found.pages.length < 2} onClick={() => step(1)} />
      <IconButton label="Close (Esc)" icon="close" onClick={onClose} />
    </search>
  )
}
