import { useRef } from 'react'
import { Icon } from '../../ui/icons.tsx'
import { useWordsInAddress } from '../../ui/typing/words-in-address.ts'
import type { DriveSearch } from '../where.ts'

/** Searches names and contents in this folder. `/` focuses it, Escape leaves it. */
export function SearchField({
  search,
  onSearch,
}: {
  search: DriveSearch
  onSearch: (change: { q: string | undefined; regex?: true | undefined }) => void
}) {
  const [words, setWords, settled] = useWordsInAddress(search.q ?? '', 250, (q) => onSearch({ q: q || undefined }))
  const field = useRef<HTMLInputElement>(null)
  return (
    <div className="flex min-w-0 flex-1 basis-52 items-center gap-2 sm:max-w-72">
      <label className="relative min-w-0 flex-1">
        <span className="sr-only">Search this folder</span>
        <Icon name="search" className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-quiet" />
        <input
          ref={field}
          type="search"
          className="field h-9 min-h-0! pl-8!"
          placeholder="Search  /"
          value={words}
          onChange={({ target }) => setWords(target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            setWords('')
            field.current?.blur()
          }}
        />
      </label>
      {words !== '' && (
        <label className="flex items-center gap-1 text-[0.8125rem] whitespace-nowrap">
          <input
            type="checkbox"
            checked={search.regex === true}
            onChange={({ target }) => onSearch({ q: settled || undefined, regex: target.checked || undefined })}
          />
          regex
        </label>
      )}
    </div>
  )
}
