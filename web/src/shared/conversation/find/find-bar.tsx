import { type RefObject, useDeferredValue, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { IconButton } from '../../../ui/button.tsx'
import { number } from '../../../ui/text/format.ts'
import type { ListHandle } from '../messages/list.tsx'
import type { Message } from '../queries.ts'
import { keepMarked, showFirst } from '../../../ui/find/marks.ts'
import { matchesIn } from './matches.ts'

/** Search within the chat. Loads older messages until there is a match. */
export function FindBar({
  rows,
  earlier,
  onEarlier,
  list,
  onClose,
}: {
  rows: readonly Message[]
  earlier: 'none' | 'more' | 'coming'
  onEarlier: () => void
  list: RefObject<ListHandle | null>
  onClose: () => void
}) {
  const field = useRef<HTMLInputElement>(null)
  const [words, setWords] = useState('')
  const deferredWords = useDeferredValue(words.trim())
  const read = useDeferredValue(rows)
  const found = useMemo(() => matchesIn(read, deferredWords), [read, deferredWords])
  const [shownId, setShownId] = useState<string | null>(null)
  const at = found.findIndex((place) => read[place]!.id === shownId)
  // The wanted match is in messages not loaded yet.
  const [beyond, setBeyond] = useState(false)
  const isLooking = deferredWords !== '' && (found.length === 0 || beyond) && earlier !== 'none'
  useEffect(() => {
    if (isLooking && earlier === 'more') onEarlier()
  }, [isLooking, earlier, onEarlier])
  useEffect(() => {
    const box = list.current?.box()
    return box ? keepMarked(box, deferredWords) : undefined
  }, [deferredWords, list])
  const show = (hit: number): void => {
    const place = found[hit]
    if (place === undefined) return
    setShownId(read[place]!.id)
    list.current!.show(place)
    // The row renders later.
    setTimeout(() => showFirst(list.current?.box().querySelector(`[data-index="${place}"]`) ?? null, deferredWords), 60)
  }
  // Shows the newest match at once, and the next one once it is loaded.
  const go = useEffectEvent(() => {
    if (found.length === 0) return
    if (beyond && at < found.length - 1) {
      setBeyond(false)
      show(at + 1)
    } else if (at === -1) show(0)
  })
  useEffect(() => go(), [found, beyond])
  useEffect(() => field.current?.focus(), [])
  const older = (): void => {
    if (at < found.length - 1) show(at + 1)
    else if (earlier !== 'none') setBeyond(true)
  }
  const newer = (): void => {
    if (at > 0) show(at - 1)
  }
  return (
    <search className="border-b border-line bg-sheet px-4 py-1.5 sm:px-6">
      <div className="mx-auto flex max-w-[46rem] items-center gap-1">
        <input
          ref={field}
          type="search"
          aria-label="Find in this chat"
          placeholder="Find in this chat"
          value={words}
          onChange={({ target }) => {
            setWords(target.value)
            setShownId(null)
            setBeyond(false)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onClose()
            else if (event.key === 'Enter') (event.shiftKey ? newer : older)()
            else return
            event.preventDefault()
          }}
          className="field min-w-0 flex-1"
        />
        <p role="status" className="figures px-2 text-sm whitespace-nowrap text-quiet">
          {deferredWords === ''
            ? ''
            : isLooking
              ? 'Searching older messages …'
              : found.length === 0
                ? 'No results'
                : `${number(at + 1)} of ${number(found.length)}${earlier === 'none' ? '' : '+'}`}
        </p>
        <IconButton label="Previous match (Enter)" icon="up" onClick={older} disabled={found.length === 0} />
        <IconButton label="Next match (Shift Enter)" icon="down" onClick={newer} disabled={at <= 0} />
        <IconButton label="Close (Esc)" icon="close" onClick={onClose} />
      </div>
    </search>
  )
}
